import { CloudError, isCloudError } from '../../../../common/cloud-error.ts';
import type { DocumentType, Version } from '../../../engine/driver.ts';
import type { ReadIo } from '../../../engine/resource.ts';
import { inParallel } from '../../parallel.ts';
import { type Permit, WithheldError } from '../../permit.ts';
import type { BalancerPlace } from '../config.ts';
import { cloud } from '../fault.ts';
import type { AddressBook } from './address-book.ts';
import type { ArmDocuments } from './arm-documents.ts';
import { kindNames } from './balancer.ts';
import type { Machine, Memberships } from './memberships.ts';
import {
  type InterfacePool,
  type InterfacePoolSpec,
  interfacePoolsIn,
  isFilledByOthers,
  type PoolMember,
  poolKey,
} from './pool.ts';
import { foundPool, poolWith } from './pool-kind.ts';

export interface PoolDocumentOptions {
  readonly balancers: Pick<ArmDocuments, 'all' | 'read' | 'idOf'>;
  readonly memberships: Memberships;
  readonly place: BalancerPlace;
  readonly book: AddressBook;
}

type State = Version<InterfacePool> & { readonly name: string };

const operation = 'backend pool';
const writesAtOnce = 8;

/**
 * Backend pools with network interfaces in them. Each is a document that is kept at the interfaces, instances and
 * models of scale sets: a write changes those that differ, each bound to its etag, and the load balancer shows them.
 */
export function poolDocument({
  balancers,
  memberships,
  place,
  book,
}: PoolDocumentOptions): DocumentType<InterfacePool> {
  const { machines } = place;
  /** As they were read or written last. */
  const standing = new Map<string, InterfacePool>();
  const known = new Map<string, Machine>();

  /** With what load balancers do not show. VMs of interfaces that are known are not read again. */
  async function completed(pools: readonly InterfacePool[], io: ReadIo): Promise<readonly State[]> {
    const ids = pools.flatMap(({ members }) => members.map(({ configuration }) => configuration));
    const options = { urgency: 'refresh', signal: io.signal } as const;
    const unknown = ids.filter((id) => !known.has(id));
    const read = await memberships.machinesOf(unknown, options);
    for (const [id, machine] of read) if (isComplete(machine)) known.set(id, machine);
    const hasSets = pools.length > 0 && machines.vmType !== 'standard';
    const sets = hasSets ? await memberships.poolsOfSets(machines, options) : new Map<string, readonly string[]>();
    return pools.map((pool) => {
      const members = pool.members.map((one) => ({
        ...one,
        ...(known.get(one.configuration) ?? read.get(one.configuration)),
      }));
      const own = [...sets].flatMap(([id, named]) => (named.includes(pool.id) ? [id] : []));
      return stateOf({ ...pool, members, sets: own.sort() });
    });
  }

  function stateOf(pool: InterfacePool): State {
    const name = poolKey(pool.document, pool.name);
    standing.set(name, pool);
    return { doc: pool, version: '', name };
  }

  async function read(name: string, io: ReadIo): Promise<State | undefined> {
    const [balancer = ''] = name.split('/');
    const found = await balancers.read(balancer, io);
    if (found === undefined) return undefined;
    const document = String(found.doc['name']);
    const pools = interfacePoolsIn(document, found.doc).filter((pool) => poolKey(document, pool.name) === name);
    return (await completed(pools, io))[0];
  }

  /** Every change is tried; then the first failure is thrown. */
  async function change(before: InterfacePool, after: InterfacePool, permit: Permit): Promise<InterfacePool> {
    const joining = after.members.filter(({ configuration }) => configuration === '').map(({ vm }) => vm!);
    const leaving = before.members.filter((one) => !after.members.includes(one) && !isIn(one.configuration, after));
    const tasks = [
      // Instances that come from now on come with the pool.
      ...after.sets.filter((set) => !before.sets.includes(set)).map((id) => ({ id, joins: true })),
      ...before.sets.filter((set) => !after.sets.includes(set)).map((id) => ({ id, joins: false })),
      ...joining.map((id) => ({ id, joins: true })),
      ...leaving.map(({ configuration }) => ({ id: configuration, joins: false })),
    ];
    const joined: PoolMember[] = [];
    const errors: unknown[] = [];
    const refused = new Map<string, string>();
    const forbidden = new Map<string, CloudError>();
    // A scale set takes one change at a time.
    const lanes = Map.groupBy(tasks, ({ id }) => /^.*\/virtualmachinescalesets\/[^/]+/.exec(id)?.[0] ?? id);
    await inParallel(writesAtOnce, [...lanes.values()], async (some) => {
      for (const { id, joins } of some) {
        try {
          if (!joins) await memberships.leave(id, after.id, permit);
          else {
            const result = await memberships.join(id, after.spelled, permit);
            if ('behind' in result) refused.set(id, `is behind ${result.behind.split('/').at(-1)} already`);
            else if (!isSet(id)) joined.push({ configuration: result.configuration, vm: id, createdAtMs: 0 });
          }
        } catch (error) {
          // Of a node that is about to be deleted, or that Azure does not accept.
          if (joins && isCloudError(error) && ['NotFound', 'Invalid'].includes(error.kind))
            refused.set(id, error.message);
          else if (joins && isCloudError(error) && error.kind === 'Forbidden') forbidden.set(id, error);
          else errors.push(error);
        }
      }
    });
    // A lock, or a resource group that the role leaves out; where it is all of them, the role is missing.
    const isForSome = joined.length > 0 || after.members.some(({ configuration }) => configuration !== '');
    for (const [id, error] of forbidden)
      if (isForSome) refused.set(id, error.message);
      else errors.push(error);
    for (const [id, why] of refused) book.refuse(id, why);
    for (const { configuration, vm } of joined) known.set(configuration, { vm, createdAtMs: 0 });
    const failed = errors.find((error) => error instanceof WithheldError) ?? errors[0];
    if (failed !== undefined) throw failed;
    const nodes = new Map([...refused].filter(([id]) => !isSet(id)));
    if (nodes.size > 0) throw refusal(nodes, after, book);
    return { ...after, members: [...after.members.filter(({ configuration }) => configuration !== ''), ...joined] };
  }

  return {
    document: kindNames.pool,
    name(part) {
      if ('found' in part) return part.found.key!;
      const { document, name } = part.want.spec as InterfacePoolSpec;
      return poolKey(document, name);
    },
    async all(_cluster, io) {
      const all = await balancers.all(io);
      const pools = all.flatMap(({ name, doc }) => interfacePoolsIn(name, doc));
      const states = await completed(pools, io);
      const shown = new Set(pools.flatMap(({ members }) => members.map(({ configuration }) => configuration)));
      for (const id of known.keys()) if (!shown.has(id)) known.delete(id);
      return states;
    },
    read,
    parse(_name, pool, cluster) {
      book.notePool(pool);
      return isFilledByOthers(place, pool.document) ? [] : [foundPool(pool, cluster, book.frontendsOf(pool))];
    },
    basis: () => book.version('any'),
    fold(pool, edits) {
      let next = pool;
      for (const edit of edits) {
        if ('drop' in edit) next = undefined;
        else {
          const spec = edit.put.spec as InterfacePoolSpec;
          next = poolWith(next ?? newPool(spec, balancers.idOf(spec.document), edit.owner.cluster), spec, book);
        }
      }
      return next;
    },
    async write(name, pool, _version, permit) {
      const before = standing.get(name) ?? { ...pool, members: [], sets: [] };
      return stateOf(await change(before, pool, permit));
    },
    async remove(name, _version, permit) {
      const before = standing.get(name);
      if (before !== undefined) await change(before, { ...before, members: [], sets: [] }, permit);
      standing.delete(name);
      if (before !== undefined) book.notePool({ ...before, members: [], sets: [] });
      return {};
    },
  };
}

const isComplete = ({ vm, createdAtMs }: Machine) => vm !== undefined && createdAtMs !== Infinity;
const isSet = (id: string) => /\/virtualmachinescalesets\/[^/]+$/.test(id);
const isIn = (configuration: string, { members }: InterfacePool) =>
  members.some((one) => one.configuration === configuration);

/** Its load balancer has it since a moment ago. */
function newPool({ document, name }: InterfacePoolSpec, balancer: string, holder: string): InterfacePool {
  const spelled = `${balancer}/backendAddressPools/${name}`;
  return {
    document,
    name,
    id: spelled.toLowerCase(),
    spelled,
    holder,
    isTakenOver: false,
    hasOtherRules: false,
    members: [],
    sets: [],
  };
}

/** Names the Nodes, which are left out for a while. */
function refusal(refused: ReadonlyMap<string, string>, pool: InterfacePool, book: AddressBook): CloudError {
  const texts = [...refused].map(([id, why]) => `${id.split('/').at(-1)} ${why}`);
  return new CloudError({
    kind: 'Invalid',
    cloud,
    operation,
    message: `not in backend pool ${pool.name} of ${pool.document}: ${texts.join('; ')}`.slice(0, 400),
    subjects: [...refused.keys()].map((vm) => book.providerIDOfVm(vm)),
  });
}
