import type { CloudRecord, LoadBalancerStep } from './load-balancers.ts';

/**
 * Says whether this replica may still change a cloud. A cloud calls it right before each mutating request is sent, after every wait of its own (rate limits,
 * credentials): it throws a WithheldError when the lease time left does not exceed `timeoutMs`, while everything or this object is paused, and in a dry run.
 *
 * @param timeoutMs how long the request may take at the most
 */
export type Permit = (timeoutMs: number) => void;

/** A mutating call that was never sent, and why. Not a failure of the cloud. */
export class WithheldError extends Error {
  override readonly name = 'WithheldError';
  readonly reason: 'Fenced' | 'Paused' | 'DryRun';

  constructor(reason: 'Fenced' | 'Paused' | 'DryRun', message: string) {
    super(message);
    this.reason = reason;
  }
}

/** What every mutating call of a cloud is made with. */
export interface ApplyOptions {
  readonly permit: Permit;
  readonly signal?: AbortSignal | undefined;
  /** Keeps with the Service what has to survive a crash, before anything else is sent. Throws what the write throws. */
  readonly save?: ((record: CloudRecord) => Promise<void>) | undefined;
  /** Called for each call that was made, where one `apply` makes several. */
  readonly onStep?: ((step: LoadBalancerStep) => void) | undefined;
}
