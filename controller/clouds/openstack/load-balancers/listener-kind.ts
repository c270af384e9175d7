import { isDeepStrictEqual } from 'node:util';
import type { Comparison, Found, Kind, PointsAt } from '../../../engine/resource.ts';
import type { AnswerFields } from '../../answer-fields.ts';
import type { LoadBalancerConfig } from '../load-balancer-config.ts';
import { differences } from './differences.ts';
import { type Listener, readListener } from './octavia-answer.ts';
import { listenerBody, listenerFields } from './octavia-bodies.ts';
import type { OctaviaCalls } from './octavia-calls.ts';
import { working } from './octavia-work.ts';
import { foundListener, octaviaKinds, ofLoadBalancer } from './resources.ts';
import type { ListenerSpec } from './specs.ts';
import { ourTags, retainedTags } from './tags.ts';

type ListenerChange = Partial<Omit<ListenerSpec, 'name' | 'protocol' | 'port'>>;

export function createListenerKind(calls: OctaviaCalls, config: LoadBalancerConfig): Kind<ListenerSpec, Listener> {
  const changing = (id: string) => working('change', { id, provider: config.provider });
  /** As an answer shows it, which names its load balancer and may not name its pool. */
  const shown = (found: Found<Listener>, answer: AnswerFields): Found<Listener> => {
    const body = { ...readListener(answer.object('listener')), loadBalancerId: found.within ?? '' };
    return foundListener(body, { owner: found.owner, isClassic: true });
  };
  return {
    kind: octaviaKinds.listener,
    ...ofLoadBalancer,
    needsOwnCreate: () => config.serialCalls,
    compare: compareListener,
    async create({ spec }, _, io) {
      const place = { loadbalancer_id: io.within, default_pool_id: io.idOf(spec.pool) };
      const answer = await calls.send('POST', 'listeners', io, { listener: { ...listenerBody(spec), ...place } });
      const body = { ...readListener(answer.object('listener')), loadBalancerId: io.within ?? '' };
      return {
        id: body.id,
        found: [foundListener(body, { owner: io.owner, isClassic: false })],
        ...changing(io.within!),
      };
    },
    async update(found, { body }, io) {
      const { pool, tags, ...rest } = body as ListenerChange;
      const turn = pool === undefined ? {} : { default_pool_id: io.idOf(pool) };
      const listener = { ...listenerFields(rest), ...turn, tags };
      const answer = await calls.send('PUT', `listeners/${found.id}`, io, { listener });
      return { found: [shown(found, answer)], ...changing(found.within!) };
    },
    async remove({ id, within }, io) {
      await calls.send('DELETE', `listeners/${id}`, io);
      return changing(within!);
    },
    async mark(found, as, want, io) {
      const { tags: there } = found.body;
      const tags = as === 'ours' ? ourTags(there, want?.spec.tags) : retainedTags(there);
      const answer = await calls.send('PUT', `listeners/${found.id}`, io, { listener: { tags } });
      const { owner: _, retained: __, ...rest } = shown(found, answer);
      const whose = as === 'ours' ? { owner: io.owner } : { retained: true };
      return { found: [{ ...rest, ...whose }], ...changing(found.within!) };
    },
  };
}

function compareListener({ body }: Found<Listener>, spec: ListenerSpec, pointsAt: PointsAt): Comparison {
  if (body.protocol !== spec.protocol)
    return { replace: `${body.protocol} becomes ${spec.protocol}`, order: 'deleteFirst' };
  const { connectionLimit, tlsRef, forwardedFor, timeouts, allowedCidrs, pool } = spec;
  const differs = (desired: unknown, there: unknown) => desired !== undefined && !isDeepStrictEqual(desired, there);
  const change: ListenerChange = {
    ...(differs(connectionLimit, body.connectionLimit) && { connectionLimit }),
    ...(differs(tlsRef, body.tlsRef) && { tlsRef }),
    ...(differs(forwardedFor, body.forwardedFor) && { forwardedFor }),
    ...(differs(timeouts, body.timeouts) && { timeouts }),
    ...(differs(allowedCidrs?.toSorted(), body.allowedCidrs.toSorted()) && { allowedCidrs }),
    ...(pointsAt('pool').join() !== pool && { pool }),
    // Any change makes Octavia configure it again.
    ...(body.status === 'ERROR' && { tags: [...new Set([...body.tags, ...spec.tags])] }),
  };
  if (Object.keys(change).length === 0) return { same: true };
  const summary = `listener ${spec.name}: ${differences(body, change)}`;
  return { changes: [{ what: 'settings', phase: 'set', summary, body: change }] };
}
