import { createHash } from 'node:crypto';
import type { Situation } from './next-action.ts';
import { asks } from './service-work.ts';

/**
 * Steps that were carried out and are planned again although nothing else is asked for: the cloud does not keep what it is told. Whatever it answers, and however long it
 * takes for each, they come at ever longer intervals.
 */
export interface StepMemory {
  /** For how long this step has to wait, milliseconds; 0 = not at all. */
  waitMs(situation: Situation, step: string): number;
  /** It was carried out. */
  applied(situation: Situation, step: string): void;
  /** Nothing is left to do for this Service, or it is no more. */
  forget(uid: string): void;
}

interface Applied {
  readonly times: number;
  readonly atMs: number;
}

interface Memory {
  /** What was asked for. */
  readonly wish: string;
  readonly steps: Map<string, Applied>;
}

/** So often a step is carried out without a wait: somebody else may have undone it once. */
const freeTimes = 2;
const firstMs = 10_000;
const maxMs = 3_600_000;

export function createStepMemory(monotonic: () => number): StepMemory {
  const memories = new Map<string, Memory>();

  return {
    waitMs(situation, step) {
      const memory = memories.get(situation.service.uid);
      const before = memory?.steps.get(digest(step));
      if (before === undefined || before.times < freeTimes || memory?.wish !== externalReferencesOf(situation))
        return 0;
      const pauseMs = Math.min(maxMs, firstMs * 2 ** (before.times - freeTimes));
      return Math.max(0, before.atMs + pauseMs - monotonic());
    },
    applied(situation, step) {
      const { uid } = situation.service;
      const wish = externalReferencesOf(situation);
      const held = memories.get(uid);
      const memory = held?.wish === wish ? held : { wish, steps: new Map<string, Applied>() };
      memories.set(uid, memory);
      const key = digest(step);
      memory.steps.set(key, { times: (memory.steps.get(key)?.times ?? 0) + 1, atMs: monotonic() });
    },
    forget: (uid) => memories.delete(uid),
  };
}

function digest(text: string): string {
  return createHash('sha256').update(text).digest('base64');
}

/** What the Service wants of whom; steps may come again when that changes. */
function externalReferencesOf({ service, demand, members }: Situation): string {
  const hash = createHash('sha256').update(`${demand} ${asks(service)}`);
  for (const { providerID, draining } of members) hash.update(`\n${providerID}${draining ? ' draining' : ''}`);
  return hash.digest('base64');
}
