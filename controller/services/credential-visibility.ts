import type { Clock } from '../../common/process/clock.ts';
import { refKey } from '../clouds/cloud.ts';
import type { Informer } from '../kube/informer.ts';
import { pickCanaries } from '../model/canaries.ts';
import type { NodeView } from '../model/node-view.ts';
import type { Resolver } from '../nodes/resolve.ts';

/**
 * Whether the credential of a cloud can see resources that certainly exist. A credential of another project is valid
 * and sees none, so that every load balancer would seem to be gone.
 *
 * - `visible`: the instance of a Ready Node is found
 * - `not visible`: no instance of a Ready Node is found
 * - `unproved`: there is no Ready Node to look up
 */
export type CredentialVisibility = 'visible' | 'not visible' | 'unproved';

/**
 * Reads only. A cloud that fails counts as `not visible`.
 *
 * @param sinceMs start of the read to check (monotonic): only a check that began later counts
 */
export type CheckVisibility = (scope: string, sinceMs: number) => Promise<CredentialVisibility>;

/** Many Services that ask at once share one check. */
export function createVisibilityCheck({
  nodes,
  resolver,
  clock,
}: {
  readonly nodes: Informer<NodeView>;
  readonly resolver: Resolver;
  readonly clock: Clock;
}): CheckVisibility {
  const last = new Map<string, { readonly startedMs: number; readonly answer: Promise<CredentialVisibility> }>();

  async function check(scope: string): Promise<CredentialVisibility> {
    const canaries = pickCanaries(nodes.values(), scope, resolver.configured);
    const lookups = resolver.lookupsOf(scope);
    if (canaries.length === 0 || lookups === undefined) return 'unproved';
    const answers = await lookups.lookupAll(canaries);
    return canaries.some((canary) => answers.get(refKey(canary))?.state === 'found') ? 'visible' : 'not visible';
  }

  return (scope, sinceMs) => {
    const held = last.get(scope);
    if (held && held.startedMs > sinceMs) return held.answer;
    const answer = check(scope);
    last.set(scope, { startedMs: clock.monotonic(), answer });
    return answer;
  };
}
