import type { Answer, Change, Found, Kind, WriteIo } from '../../../engine/resource.ts';
import type { AnswerFields } from '../../answer-fields.ts';
import type { LoadBalancerConfig } from '../load-balancer-config.ts';
import { type Member, type Pool, readMember, readMonitor, readPool } from './octavia-answer.ts';
import { memberBody, monitorBody, poolBody, timesBody } from './octavia-bodies.ts';
import type { OctaviaCalls } from './octavia-calls.ts';
import { working } from './octavia-work.ts';
import { comparePool, type PoolChange, shownMembers } from './pool-changes.ts';
import { foundPool, octaviaKinds, ofLoadBalancer } from './resources.ts';
import type { NewMember, PoolSpec } from './specs.ts';
import { ourTags, retainedTags } from './tags.ts';

/** @param sent takes note of all members of a pool */
export function createPoolKind(
  calls: OctaviaCalls,
  config: LoadBalancerConfig,
  sent: (pool: string, members: readonly Member[]) => void,
): Kind<PoolSpec, Pool> {
  const changing = (id: string) => working('change', { id, provider: config.provider });
  const readPoolAnswer = (answer: AnswerFields) => readPool(answer.object('pool'));

  /** Sends it; answers what the pool is from then on. */
  async function send({ id, body, within }: Found<Pool>, change: PoolChange, io: WriteIo): Promise<Pool> {
    const { members = [], monitor } = body;
    // Octavia takes the subnet of the VIP where none is named.
    const wire = (one: NewMember) => memberBody(one, undefined);
    switch (change.does) {
      case 'set pool': {
        const now = readPoolAnswer(await calls.send('PUT', `pools/${id}`, io, { pool: change.fields }));
        return { ...now, members, monitor, loadBalancerId: within ?? '' };
      }
      case 'set members':
        await calls.send('PUT', `pools/${id}/members`, io, { members: change.members.map(wire) });
        sent(id, shownMembers(change.members, members));
        return { ...body, members: shownMembers(change.members, members) };
      case 'add member': {
        const answer = await calls.send('POST', `pools/${id}/members`, io, { member: wire(change.member) });
        return { ...body, members: [...members, readMember(answer.object('member'))] };
      }
      case 'set member': {
        const { weight, monitor_port = null, name, tags } = wire(change.member);
        const member = { weight, monitor_port, name, tags };
        await calls.send('PUT', `pools/${id}/members/${change.id}`, io, { member });
        const [now] = shownMembers([change.member], members);
        return { ...body, members: members.map((one) => (one.id === change.id ? now! : one)) };
      }
      case 'remove member':
        await calls.send('DELETE', `pools/${id}/members/${change.id}`, io);
        return { ...body, members: members.filter((one) => one.id !== change.id) };
      case 'add monitor': {
        const healthmonitor = { ...monitorBody(change.monitor, io.owner), pool_id: id };
        const answer = await calls.send('POST', 'healthmonitors', io, { healthmonitor });
        const made = readMonitor(answer.object('healthmonitor'));
        return { ...body, monitor: made, monitorId: made.id };
      }
      case 'set monitor': {
        const path = `healthmonitors/${body.monitorId}`;
        const answer = await calls.send('PUT', path, io, { healthmonitor: timesBody(change.monitor) });
        return { ...body, monitor: readMonitor(answer.object('healthmonitor')) };
      }
      case 'remove monitor':
        await calls.send('DELETE', `healthmonitors/${body.monitorId}`, io);
        return { ...body, monitor: undefined, monitorId: undefined };
    }
  }

  return {
    kind: octaviaKinds.pool,
    ...ofLoadBalancer,
    needsOwnCreate: () => config.serialCalls,
    compare: (found, spec) => comparePool(found, spec, config.serialCalls),
    // Releases up to Octavia 11 fail where it is made with what is in it.
    fresh: ({ key, spec }) => ({
      body: {
        id: '',
        name: spec.name,
        loadBalancerId: '',
        status: 'ACTIVE',
        protocol: spec.protocol,
        version: key,
        algorithm: spec.algorithm ?? spec.usualAlgorithm,
        persistence: spec.persistence,
        monitorId: undefined,
        monitor: undefined,
        memberIds: [],
        members: [],
        tags: spec.tags,
      },
    }),
    async create({ spec }, _, io) {
      const answer = await calls.send('POST', 'pools', io, {
        pool: { ...poolBody(spec), loadbalancer_id: io.within },
      });
      const body = { ...readPoolAnswer(answer), members: [], loadBalancerId: io.within ?? '' };
      return { id: body.id, found: [foundPool(body, { owner: io.owner, isClassic: false })], ...changing(io.within!) };
    },
    async update(found, { body }: Change, io): Promise<Answer> {
      const now = await send(found, body as PoolChange, io);
      return { found: [{ ...found, body: now }], ...changing(found.within!) };
    },
    async remove({ id, within }, io) {
      await calls.send('DELETE', `pools/${id}`, io);
      return changing(within!);
    },
    async mark(found, as, want, io) {
      const { tags: there, members, monitor } = found.body;
      const tags = as === 'ours' ? ourTags(there, want?.spec.tags) : retainedTags(there);
      const now = readPoolAnswer(await calls.send('PUT', `pools/${found.id}`, io, { pool: { tags } }));
      // Lists do not show what is in pools of others.
      if (members === undefined) return changing(found.within!);
      const { owner: _, retained: __, ...rest } = found;
      const whose = as === 'ours' ? { owner: io.owner } : { retained: true };
      const body = { ...now, members, monitor, loadBalancerId: found.within ?? '' };
      return { found: [{ ...rest, ...whose, body }], ...changing(found.within!) };
    },
  };
}
