import { everyService, type Found, type Kind, type Reference } from '../../../engine/resource.ts';
import type { AddressBook } from './address-book.ts';
import { kindNames } from './balancer.ts';
import { type InterfacePool, type InterfacePoolSpec, type PoolMember, poolKey } from './pool.ts';

/** An instance is a Node after so long. */
const bootMs = 15 * 60_000;

/** What the pool has to be like; the same object where it is like that. Pure but for what the book has. */
export function poolWith(pool: InterfacePool, spec: InterfacePoolSpec, book: AddressBook): InterfacePool {
  const { vms } = spec;
  if (vms === undefined) return pool;
  const desired = new Set(vms);
  const goes = ({ vm, createdAtMs }: PoolMember) => {
    // Whether it is a node's is not known: that of a node would leave while the node joins.
    if (vm === undefined) return false;
    if (desired.has(vm) || book.wasMember(vm)) return !desired.has(vm);
    // Interfaces of others stay, and so do instances that came with the pool and are no Nodes yet.
    return !pool.isTakenOver && pool.holder !== undefined && createdAtMs + bootMs < book.nowMs();
  };
  const present = new Set(pool.members.map(({ vm }) => vm));
  const joining = vms.filter((vm) => !present.has(vm) && book.refusalOf(vm) === undefined);
  const sets = spec.sets.filter((set) => !pool.sets.includes(set) && book.refusalOf(set) === undefined);
  if (joining.length === 0 && sets.length === 0 && !pool.members.some(goes)) return pool;
  const members = [
    ...pool.members.filter((one) => !goes(one)),
    ...joining.map((vm): PoolMember => ({ configuration: '', vm, createdAtMs: 0 })),
  ];
  return { ...pool, members, sets: [...pool.sets, ...sets] };
}

/** All Services share it, since every Service names all nodes of the cluster. */
export function poolKind(book: AddressBook): Kind<InterfacePoolSpec, InterfacePool> {
  return {
    kind: kindNames.pool,
    document: kindNames.pool,
    retryCreate: 'atOnce',
    merge: (specs) => ({
      ...specs[0]!,
      vms: specs.every(({ vms }) => vms === undefined) ? undefined : [...new Set(specs.flatMap(({ vms = [] }) => vms))],
      sets: [...new Set(specs.flatMap(({ sets }) => sets))],
    }),
    usedBy: ({ body }) => book.usersOf(body),
    compare({ body }, spec) {
      const next = poolWith(body, spec, book);
      if (next === body) return { same: true };
      const joining = next.members.filter(({ configuration }) => configuration === '').length;
      const leaving = body.members.length - (next.members.length - joining);
      const models = next.sets.length - body.sets.length;
      const texts = [
        joining > 0 && `${joining} nodes join`,
        leaving > 0 && `${leaving} nodes leave`,
        models > 0 && `${models} scale sets join`,
      ].filter((text) => text !== false);
      const summary = `backend pool ${body.name} of ${body.document}: ${texts.join(', ')}`;
      return { changes: [{ what: 'members', summary, phase: 'set' }] };
    },
  };
}

/** A pool that no rule leads to, in its load balancer: it goes when everybody has left it. */
export const unusedPoolKind: Kind<undefined, { readonly document: string }> = {
  kind: kindNames.unusedPool,
  document: kindNames.balancer,
  retryCreate: 'atOnce',
  usedBy: () => [],
  compare: () => ({ same: true }),
};

/** @param cluster UID */
export function foundPool(pool: InterfacePool, cluster: string, frontends: readonly string[]): Found<InterfacePool> {
  const { document, name, id, holder } = pool;
  const isOurs = holder === undefined || holder === cluster;
  return {
    kind: kindNames.pool,
    id,
    key: poolKey(document, name),
    status: 'ready',
    body: pool,
    ...(isOurs ? { owner: { cluster, service: everyService } } : {}),
    // Nodes leave before the last frontend goes, and before the pool does.
    refs: [
      ...frontends.map((frontend): Reference => {
        return { role: 'frontend', kind: kindNames.balancer, id: frontend, loose: true, proof: true };
      }),
      { role: 'pool', kind: kindNames.unusedPool, id },
    ],
  };
}
