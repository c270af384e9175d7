import { createHash } from 'node:crypto';
import type { DesiredMember } from '../clouds/load-balancers.ts';
import type { ServiceView } from '../model/service-view.ts';
import type { Intent } from './intent.ts';
import { fingerprintOf } from './service-fingerprint.ts';

/**
 * Steps that were applied for one Service since it last was as desired. A step that is planned again although nothing
 * else is desired shows that the cloud does not keep the change; such steps are applied at ever longer intervals.
 */
export interface AppliedSteps {
  /** Digest of what was desired. */
  readonly desired: string;
  readonly steps: ReadonlyMap<string, { readonly times: number; readonly atMs: number }>;
}

/** What a step is planned for. */
export interface StepPurpose {
  readonly service: ServiceView;
  readonly intent: Intent;
  readonly members: readonly DesiredMember[];
}

/** So often a step is applied without a wait: another client may have undone it once. */
const freeTimes = 2;
const firstMs = 10_000;
const maxMs = 3_600_000;

/** How long this step has to wait, milliseconds; 0 = not at all. Pure. */
export function stepWaitMs(
  applied: AppliedSteps | undefined,
  purpose: StepPurpose,
  step: string,
  nowMs: number,
): number {
  const before = applied?.steps.get(digest(step));
  if (before === undefined || before.times < freeTimes || applied?.desired !== desiredDigest(purpose)) return 0;
  const pauseMs = Math.min(maxMs, firstMs * 2 ** (before.times - freeTimes));
  return Math.max(0, before.atMs + pauseMs - nowMs);
}

/** With one step more. Pure. */
export function withStep(
  applied: AppliedSteps | undefined,
  purpose: StepPurpose,
  step: string,
  nowMs: number,
): AppliedSteps {
  const desired = desiredDigest(purpose);
  const steps = new Map(applied?.desired === desired ? applied.steps : []);
  const key = digest(step);
  steps.set(key, { times: (steps.get(key)?.times ?? 0) + 1, atMs: nowMs });
  return { desired, steps };
}

function digest(text: string): string {
  return createHash('sha256').update(text).digest('base64');
}

/** Of what the Service asks for, and of its members; steps may come again when that changes. */
function desiredDigest({ service, intent, members }: StepPurpose): string {
  const hash = createHash('sha256').update(`${intent} ${fingerprintOf(service)}`);
  for (const { providerID, draining } of members) hash.update(`\n${providerID}${draining ? ' draining' : ''}`);
  return hash.digest('base64');
}
