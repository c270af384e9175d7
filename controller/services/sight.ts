import type { Clock } from '../../common/process/clock.ts';
import { refKey } from '../clouds/cloud.ts';
import type { Informer } from '../kube/informer.ts';
import { pickCanaries } from '../model/canaries.ts';
import type { NodeView } from '../model/node-view.ts';
import type { Resolver } from '../nodes/resolve.ts';

/**
 * Whether a cloud shows us anything that is certainly there. A credential of another project is valid, sees nothing, and would have every load balancer taken for
 * gone.
 *
 * - `sees`: the instance of a living Node is found
 * - `blind`: none of them is
 * - `unproved`: there is no living Node to ask for
 */
export type Sight = 'sees' | 'blind' | 'unproved';

/** @param sinceMs the answer to be judged was asked for at this moment (monotonic): only a look that began later tells of it */
export type ProveSight = (scope: string, sinceMs: number) => Promise<Sight>;

/** Looks that many Services ask for at once are one. Reads only; a failing cloud is `blind`. */
export function createSight({
  nodes,
  resolver,
  clock,
}: {
  readonly nodes: Informer<NodeView>;
  readonly resolver: Resolver;
  readonly clock: Clock;
}): ProveSight {
  const last = new Map<string, { readonly startedMs: number; readonly answer: Promise<Sight> }>();

  async function look(scope: string): Promise<Sight> {
    const canaries = pickCanaries(nodes.values(), scope, resolver.configured);
    const lookups = resolver.lookupsOf(scope);
    if (canaries.length === 0 || lookups === undefined) return 'unproved';
    const answers = await lookups.lookupAll(canaries);
    return canaries.some((canary) => answers.get(refKey(canary))?.state === 'found') ? 'sees' : 'blind';
  }

  return (scope, sinceMs) => {
    const held = last.get(scope);
    if (held && held.startedMs > sinceMs) return held.answer;
    const answer = look(scope);
    last.set(scope, { startedMs: clock.monotonic(), answer });
    return answer;
  };
}
