import type { MemberSource } from '../member-source.ts';
import type { MemberSets } from './member-sets.ts';

/** The member sets as the reconciler of Services sees them. `membersFor` throws before the sets are started: nothing is decided from a cache that is not synced. */
export function memberSourceOf(sets: MemberSets): MemberSource {
  return {
    membersFor(service, options) {
      const trafficPolicy = service.externalTrafficPolicy === 'Local' ? ('Local' as const) : ('Cluster' as const);
      const found = sets.membersFor({ ...options, service: service.uid, trafficPolicy });
      if (found === undefined) throw new Error(`the members of ${options.scope} are not known yet`);
      return { members: found.members, againInMs: found.recheckAfterMs };
    },
    onChange: (run) => sets.onChange(run),
  };
}
