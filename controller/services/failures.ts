import { type CloudErrorKind, isCloudError } from '../../common/cloud-error.ts';
import { WithheldError } from '../clouds/permit.ts';
import { isKubeError } from '../kube/api.ts';
import { reasonOfKind } from './reasons.ts';
import type { LoadBalancerCondition } from './service-patches.ts';

/** The consequences of a failed try. */
export type Failure =
  /** Nothing was sent: paused, or this replica no longer leads. Not a failure; tried again after `againInMs`. */
  | { readonly kind: 'withheld'; readonly againInMs: number }
  | {
      readonly kind: 'failed';
      /** Undefined where the cause is not the Service and a retry is enough. */
      readonly condition: LoadBalancerCondition | undefined;
      /** It gets an event, because it concerns this Service and not all of them. */
      readonly event: boolean;
      /** Shown only when it lasts. */
      readonly patient: boolean;
    };

/** Shown only when they last, because a retry usually succeeds. */
const patientKinds: ReadonlySet<CloudErrorKind> = new Set(['Throttled', 'Conflict', 'Busy', 'Stale', 'Taken']);

/** The next try of paused or fenced work. */
const pausedAgainMs = 2000;
const fencedAgainMs = 1000;

/** Whether a mutating call with this error may have had its effect. */
export function mayHaveCreated(error: unknown): boolean {
  if (error instanceof WithheldError) return false;
  return !isCloudError(error) || error.kind === 'Timeout' || error.kind === 'Unavailable' || error.kind === 'Conflict';
}

/** Pure. */
export function failureOf(error: unknown): Failure {
  if (error instanceof WithheldError)
    return { kind: 'withheld', againInMs: error.reason === 'Fenced' ? fencedAgainMs : pausedAgainMs };
  if (isCloudError(error)) {
    const { kind, message } = error;
    return {
      kind: 'failed',
      condition: { reason: reasonOfKind[kind], message: `${kind}: ${message}` },
      event: kind !== 'Throttled' && kind !== 'Unauthorized',
      patient: patientKinds.has(kind),
    };
  }
  if (isKubeError(error)) {
    if (error.reason === 'Fenced') return { kind: 'withheld', againInMs: fencedAgainMs };
    if (error.reason === 'Withheld') return { kind: 'withheld', againInMs: pausedAgainMs };
    const refused = error.status === 400 || error.status === 403 || error.status === 422;
    const condition: LoadBalancerCondition | undefined = refused
      ? { reason: 'WriteRefused', message: error.message }
      : undefined;
    return { kind: 'failed', condition, event: true, patient: true };
  }
  return { kind: 'failed', condition: undefined, event: true, patient: true };
}
