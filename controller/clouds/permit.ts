import type { CloudRecord, LoadBalancerStep } from './load-balancer-step.ts';

/**
 * Checks that this replica may still change a cloud. A cloud calls it right before it sends each mutating request,
 * after all its own waits (rate limits, credentials). Throws a WithheldError when the remaining lease time does not
 * exceed `timeoutMs`, and while everything or this object is paused.
 *
 * @param timeoutMs the longest time that the request may take
 */
export type Permit = (timeoutMs: number) => void;

/** A mutating call that was not sent, and why. Not a failure of the cloud. */
export class WithheldError extends Error {
  override readonly name = 'WithheldError';
  readonly reason: 'Fenced' | 'Paused';

  constructor(reason: 'Fenced' | 'Paused', message: string) {
    super(message);
    this.reason = reason;
  }
}

/** The options of every mutating call of a cloud. */
export interface ApplyOptions {
  readonly permit: Permit;
  readonly signal?: AbortSignal | undefined;
  /** Keeps with the Service what has to survive a crash, before anything else is sent. Throws what the write throws. */
  readonly save?: ((record: CloudRecord) => Promise<void>) | undefined;
  /** Called after each mutating call that the cloud accepted, or put off: `isAccepted` tells which. */
  readonly onStep?: ((step: LoadBalancerStep, isAccepted: boolean) => void) | undefined;
}
