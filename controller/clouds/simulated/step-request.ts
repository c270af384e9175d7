import { isDeepStrictEqual } from 'node:util';
import type { DesiredMember, IpFamily, Owner } from '../load-balancers.ts';
import type { Tags } from './answer-fields.ts';
import type { LoadBalancer } from './load-balancer-answer.ts';
import type { StepCall, TagChange } from './load-balancer-step.ts';
import type { MemberSets } from './member-sets.ts';
import { ownedBy } from './ownership.ts';
import type { ApiRequest } from './transport.ts';

/** The calls that change a load balancer that is there. */
export type PieceCall = Exclude<
  StepCall,
  { does: 'reserve address' | 'change address' | 'release address' | 'create load balancer' }
>;

export interface RequestParts {
  readonly owner: Owner;
  /** At which the load balancer was seen: a change of one that has changed since is refused. Undefined: no matter. */
  readonly revision: number | undefined;
  readonly members: (members: readonly DesiredMember[]) => unknown;
  /** Id of the address that an earlier step reserved. */
  readonly addressOf: (family: IpFamily) => string;
}

export function pieceRequest(wish: PieceCall, { owner, revision, members, addressOf }: RequestParts): ApiRequest {
  const guard = revision === undefined ? {} : { ifRevision: revision };
  const guardQuery = revision === undefined ? '' : `&ifRevision=${revision}`;
  const quiet = '?inlineMembers=0';
  const of = (kind: string) => `${kind} ${owner.cluster} ${owner.service}`;
  switch (wish.does) {
    case 'change load balancer': {
      const { tags, addresses } = wish;
      const ids = addresses && { addresses: addresses.map(({ id, family }) => id ?? addressOf(family)) };
      const body = { ...(tags && { tags }), ...ids, ...guard };
      return { operation: 'load-balancers.update', method: 'PATCH', path: `/load-balancers/${wish.id}${quiet}`, body };
    }
    case 'delete load balancer': {
      const path = `/load-balancers/${wish.id}${quiet}${guardQuery}`;
      return { operation: 'load-balancers.delete', method: 'DELETE', path };
    }
    case 'add listener': {
      const { listener, pool } = wish;
      const clientToken = of(`listener ${listener.protocol} ${listener.port}`);
      const path = `/load-balancers/${wish.loadBalancer}/listeners${quiet}`;
      return { operation: 'listeners.create', path, body: { ...listener, pool, clientToken, ...guard } };
    }
    case 'change listener': {
      const path = `/load-balancers/${wish.loadBalancer}/listeners/${wish.id}${quiet}`;
      return { operation: 'listeners.update', method: 'PATCH', path, body: { ...wish.change, ...guard } };
    }
    case 'delete listener': {
      const path = `/load-balancers/${wish.loadBalancer}/listeners/${wish.id}${quiet}${guardQuery}`;
      return { operation: 'listeners.delete', method: 'DELETE', path };
    }
    case 'add pool': {
      const body = { ...wish.pool, members: members(wish.members), clientToken: of('pool'), ...guard };
      return { operation: 'pools.create', path: `/load-balancers/${wish.loadBalancer}/pools${quiet}`, body };
    }
    case 'change pool': {
      const path = `/load-balancers/${wish.loadBalancer}/pools/${wish.id}${quiet}`;
      return { operation: 'pools.update', method: 'PATCH', path, body: { ...wish.change, ...guard } };
    }
    case 'set members': {
      const path = `/load-balancers/${wish.loadBalancer}/pools/${wish.id}/members${quiet}`;
      const body = { members: members(wish.members), ...guard };
      return { operation: 'pools.set-members', method: 'PUT', path, body };
    }
    case 'delete pool': {
      const path = `/load-balancers/${wish.loadBalancer}/pools/${wish.id}${quiet}${guardQuery}`;
      return { operation: 'pools.delete', method: 'DELETE', path };
    }
  }
}

/** Whether what the call asks for is so already. */
export function stands(wish: PieceCall, now: LoadBalancer | undefined, owner: Owner, sets: MemberSets): boolean {
  if (wish.does === 'delete load balancer') return now === undefined || now.state === 'deleting';
  if (!now) return wish.does === 'delete listener' || wish.does === 'delete pool';
  switch (wish.does) {
    case 'change load balancer': {
      const { tags, addresses } = wish;
      const ids = addresses?.map(({ id }) => id);
      // An address that was still without an id is not known here: the plan is made anew.
      const there =
        !ids ||
        (!ids.includes(undefined) &&
          sameSet(
            ids,
            now.addresses.map(({ id }) => id),
          ));
      return there && (!tags || carries(now.tags, tags));
    }
    case 'add listener': {
      const { protocol, port } = wish.listener;
      return now.listeners.some((one) => one.protocol === protocol && one.port === port && ownedBy(one.tags, owner));
    }
    case 'change listener': {
      const listener = now.listeners.find(({ id }) => id === wish.id);
      return listener !== undefined && holds(listener, wish.change);
    }
    case 'delete listener':
      return now.listeners.every(({ id }) => id !== wish.id);
    case 'add pool':
      return now.pools.some(({ name, tags }) => name === wish.pool.name && ownedBy(tags, owner));
    case 'change pool': {
      const pool = now.pools.find(({ id }) => id === wish.id);
      return pool !== undefined && holds(pool, wish.change);
    }
    case 'set members':
      return now.pools.some(({ id, memberDigest }) => id === wish.id && memberDigest === sets.digest(wish.members));
    case 'delete pool':
      return now.pools.every(({ id }) => id !== wish.id);
  }
}

function holds(piece: { readonly tags: Tags }, { tags, ...change }: { readonly tags?: TagChange }): boolean {
  if (tags && !carries(piece.tags, tags)) return false;
  const fields = piece as unknown as Readonly<Record<string, unknown>>;
  return Object.entries(change).every(([key, value]) => isDeepStrictEqual(fields[key] ?? null, value));
}

function carries(tags: Tags, change: TagChange): boolean {
  return Object.entries(change).every(([key, value]) => (tags[key] ?? null) === value);
}

function sameSet(a: readonly unknown[], b: readonly unknown[]): boolean {
  return a.length === b.length && a.every((one) => b.includes(one));
}
