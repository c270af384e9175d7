import type { Change, Kind } from '../../../engine/resource.ts';
import type { AnswerFields } from '../../answer-fields.ts';
import { memberChanges } from '../../member-changes.ts';
import { chunks } from '../../parallel.ts';
import type { HuaweiClient } from '../client.ts';
import { foundPool, kindNames, type Member, type Pool } from './found.ts';
import { elbPath, type PartSpec, partKind } from './parts.ts';
import type { Subnets } from './subnets.ts';

export interface PoolSpec extends PartSpec {
  readonly members: readonly Member[];
  /** Members may be in other VPCs: known by their addresses alone. */
  readonly crossVpc: boolean;
}

type Action = 'batch-add' | 'batch-update' | 'batch-delete';
interface Edit extends Pick<PoolSpec, 'members' | 'crossVpc'> {
  readonly action: Action;
}

/** The most that one call takes. */
const membersAtOnce = 200;

/** The members behind one listener. They come by calls of their own. */
export function poolKind(client: HuaweiClient, subnets: Subnets): Kind<PoolSpec, Pool> {
  const base = partKind<Pool>(client, {
    kind: kindNames.pool,
    within: kindNames.balancer,
    parent: 'loadbalancer_id',
    collection: 'pools',
    deletion: '/delete-cascade',
    read: (fields, key, before) => foundPool(fields, before?.body.members ?? [], key),
  });

  async function sentOf({ action, members, crossVpc }: Edit, signal: AbortSignal | undefined): Promise<object[]> {
    if (action === 'batch-delete') return members.map(({ id }) => ({ id }));
    if (action === 'batch-update') return members.map(({ id, weight }) => ({ id, weight }));
    const sent = [];
    for (const { address, port, weight, server: name } of members) {
      const subnet = crossVpc ? undefined : await subnets.holding(address, signal);
      sent.push({
        address,
        protocol_port: port,
        weight,
        ...(subnet === undefined ? { name } : { subnet_cidr_id: subnet }),
      });
    }
    return sent;
  }

  return {
    ...(base as Kind<PoolSpec, Pool>),
    compare(found, spec, pointsAt) {
      const settings = base.compare(found, spec, pointsAt);
      if ('replace' in settings) return settings;
      const changes = [...('same' in settings ? [] : settings.changes), ...membersChanged(found.body, spec)];
      return changes.length === 0 ? { same: true } : { changes };
    },
    fresh: ({ spec: { once, fixed, fields } }) => ({
      body: { name: String(once?.['name']), wire: { ...once, ...fixed, ...fields }, members: [] },
    }),
    async update(found, change, io) {
      if (change.what === 'set') return base.update!(found, change, io);
      const edit = change.body as Edit;
      const { permit, signal } = io;
      const path = `${elbPath}/pools/${found.id}/members/${edit.action}`;
      const body = { members: await sentOf(edit, signal) };
      const answer = await client.call({ service: 'elb', path, method: 'POST', body, permit, signal });
      return { found: [{ ...found, body: { ...found.body, members: after(found.body.members, edit, answer) } }] };
    },
  };
}

const isSame = (a: Member, b: Member) => a.address === b.address && a.port === b.port;

function membersChanged({ name, members: there }: Pool, { members, crossVpc }: PoolSpec): Change[] {
  const isThere = (one: Member) => there.find((each) => isSame(one, each));
  const weighed = members.flatMap((one) => {
    const now = isThere(one);
    return now === undefined || now.weight === one.weight ? [] : [{ ...now, weight: one.weight }];
  });
  const change = (action: Action) => (some: readonly Member[], at: number) => {
    const summary = `pool ${name}: ${action} ${some.map(({ address }) => address).join(', ')}`;
    return { what: `${action} ${at}`, summary, body: { action, members: some, crossVpc } satisfies Edit };
  };
  const added = members.filter((one) => isThere(one) === undefined);
  const removed = there.filter((one) => !members.some((each) => isSame(one, each)));
  const difference = { added, removed, count: there.length, atOnce: membersAtOnce };
  const updates = chunks(weighed, membersAtOnce).map(change('batch-update'));
  return [
    ...memberChanges(difference, change('batch-add'), change('batch-delete')),
    ...updates.map((one): Change => ({ ...one, phase: 'set' })),
  ];
}

/** What is shown without its id is not deleted by it: only what the answer names is there. */
function after(there: readonly Member[], { action, members }: Edit, answer: AnswerFields): readonly Member[] {
  const rest = there.filter((one) => !members.some((each) => isSame(one, each)));
  if (action === 'batch-delete') return rest;
  if (action === 'batch-update') return [...rest, ...members];
  const made = answer.objects('members').flatMap((one) => {
    const isMade = (one.optionalText('ret_status') ?? 'successful') === 'successful';
    const member = members.find(({ address }) => address === one.optionalText('address'));
    return isMade && member !== undefined ? [{ ...member, id: one.text('id') }] : [];
  });
  return [...rest, ...made];
}
