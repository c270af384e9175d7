import type { Change, Comparison, Found, Kind } from '../../../engine/resource.ts';
import { kinds, type Part, tagsFor } from '../found.ts';
import type { Pool, Tags } from '../load-balancer-answer.ts';
import { differenceOf } from '../member-sets.ts';
import type { PoolSpec } from '../specs.ts';
import { type Calls, createPartCalls, differencesOf, guardOf, tokenOf } from './calls.ts';

/** The members of a load balancer. */
export function poolKind(calls: Calls, settleMs: number): Kind<PoolSpec, Part<Pool>> {
  const { pathOf, patch, remove, mark } = createPartCalls<Pool>('pools', calls);
  return {
    kind: kinds.pool,
    retryCreate: 'atOnce',
    settleMs,
    within: kinds.loadBalancer,
    inline: true,
    compare,
    create({ spec }, _, io) {
      const path = `/load-balancers/${io.within}/pools`;
      const body = { ...poolBody(spec, tagsFor(io.owner, spec.service)), clientToken: tokenOf('pool', io) };
      return calls.change({ operation: 'pools.create', method: 'POST', path, body }, io);
    },
    update(found, { what, body }, io) {
      if (what !== 'members') return patch(found, body as object, io);
      const { wire: members } = body as NonNullable<PoolSpec['members']>;
      const request = { operation: 'pools.set-members', method: 'PUT', path: `${pathOf(found)}/members` } as const;
      return calls.change({ ...request, body: { members, ...guardOf(found.body.within, io) } }, io);
    },
    remove,
    mark,
  };
}

/** As it is sent to make it. */
export function poolBody({ name, healthCheck, sessionAffinity, members }: PoolSpec, tags: Tags) {
  return { name, tags, healthCheck, sessionAffinity, members: members?.wire ?? [] };
}

function compare({ body }: Found<Part<Pool>>, spec: PoolSpec): Comparison {
  const { healthCheck, sessionAffinity, members } = spec;
  const { healthCheck: known } = body;
  const settings = {
    ...(healthCheck && (known?.port !== healthCheck.port || known.path !== healthCheck.path) && { healthCheck }),
    ...(body.sessionAffinity?.timeoutSeconds !== sessionAffinity?.timeoutSeconds && {
      sessionAffinity: sessionAffinity ?? null,
    }),
  };
  const changes: Change[] = [];
  if (Object.keys(settings).length > 0) {
    const summary = `pool of ${body.within.name}: ${differencesOf(body, settings)}`;
    changes.push({ what: 'settings', summary, phase: 'set', body: settings });
  }
  if (members !== undefined && members.digest !== body.memberDigest) {
    const summary = `members of ${body.within.name}: ${differenceOf(body.members, members)}`;
    changes.push({ what: 'members', summary, phase: 'set', body: members });
  }
  return changes.length === 0 ? { same: true } : { changes };
}
