import type { Comparison, Found, Kind, PointsAt } from '../../../engine/resource.ts';
import { kinds, type Part, tagsFor } from '../found.ts';
import type { Listener, Tags } from '../load-balancer-answer.ts';
import type { ListenerSpec } from '../specs.ts';
import { type Calls, createPartCalls, differencesOf, tokenOf } from './calls.ts';

/** One port of a load balancer. */
export function listenerKind(calls: Calls, settleMs: number): Kind<ListenerSpec, Part<Listener>> {
  const { patch, remove, mark } = createPartCalls<Listener>('listeners', calls);
  return {
    kind: kinds.listener,
    retryCreate: 'atOnce',
    settleMs,
    within: kinds.loadBalancer,
    inline: true,
    compare,
    create({ key, spec }, _, io) {
      const path = `/load-balancers/${io.within}/listeners`;
      const body = { ...listenerBody(spec, tagsFor(io.owner, spec.service)), pool: io.idOf(spec.pool) };
      const clientToken = tokenOf(`listener ${key}`, io);
      return calls.change({ operation: 'listeners.create', method: 'POST', path, body: { ...body, clientToken } }, io);
    },
    update(found, { body }, io) {
      const { pool: name, ...rest } = body as Partial<ListenerSpec>;
      return patch(found, { ...rest, ...(name !== undefined && { pool: io.idOf(name) }) }, io);
    },
    remove,
    mark,
  };
}

/** As it is sent to make it, without its pool. */
export function listenerBody({ service: _, ...spec }: ListenerSpec, tags: Tags) {
  return { ...spec, tags, proxyProtocol: spec.proxyProtocol ?? false, tls: spec.tls ?? false };
}

function compare({ body, key }: Found<Part<Listener>>, spec: ListenerSpec, pointsAt: PointsAt): Comparison {
  const { memberPort, sourceRanges, proxyProtocol, tls, pool } = spec;
  const settings = {
    ...(body.memberPort !== memberPort && { memberPort }),
    ...(body.sourceRanges.toSorted().join() !== sourceRanges.toSorted().join() && { sourceRanges }),
    ...(proxyProtocol !== undefined && body.proxyProtocol !== proxyProtocol && { proxyProtocol }),
    ...(tls !== undefined && body.tls !== tls && { tls }),
    ...(pointsAt('pool').join() !== pool && { pool }),
  };
  if (Object.keys(settings).length === 0) return { same: true };
  const summary = `listener ${key} of ${body.within.name}: ${differencesOf(body, settings)}`;
  return { changes: [{ what: 'settings', summary, phase: 'set', body: settings }] };
}
