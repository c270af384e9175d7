import type { Owner } from '../../load-balancers.ts';

/** Whether all that there is of a Service is known: a look has told it, and the answer to everything sent since has come. */
export interface Answers {
  /** Before the first read of a look, for `looked`. */
  stamp(): number;
  /** Everything of this owner, or of everybody, was looked for by a look that began at this stamp. */
  looked(owner: Owner | 'everybody', stamp: number): void;
  /** Something was to be made for this owner, and nobody knows what came of it. */
  lost(owner: Owner): void;
  knowsAll(owner: Owner): boolean;
}

export function createAnswers(): Answers {
  let stamp = 0;
  let everybodyLooked = false;
  /** By Service. */
  const looked = new Set<string>();
  /** By Service: when an answer was lost. */
  const losses = new Map<string, number>();
  return {
    stamp: () => stamp,
    looked(owner, since) {
      if (owner === 'everybody') {
        everybodyLooked = true;
        looked.clear();
        for (const [service, at] of losses) if (at <= since) losses.delete(service);
        return;
      }
      if (!everybodyLooked) looked.add(owner.service);
      if ((losses.get(owner.service) ?? Number.POSITIVE_INFINITY) <= since) losses.delete(owner.service);
    },
    lost({ service }) {
      stamp += 1;
      losses.set(service, stamp);
    },
    knowsAll: ({ service }) => (everybodyLooked || looked.has(service)) && !losses.has(service),
  };
}
