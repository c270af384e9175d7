import { DescribeLoadBalancersCommand } from '@aws-sdk/client-elastic-load-balancing';
import { DescribeLoadBalancersCommand as DescribeNetworkLoadBalancersCommand } from '@aws-sdk/client-elastic-load-balancing-v2';
import { everyPage } from '../pages.ts';
import type { AwsParts } from '../parts.ts';
import type { ReadOptions } from '../service-calls.ts';
import type { GroupUsers } from './network-facts.ts';

export type LoadBalancerKind = 'classic' | 'nlb';

/** A load balancer of anybody, as a list of all shows it. */
export interface Carrier {
  readonly name: string;
  readonly groups: readonly string[];
}

/**
 * Which load balancers carry which security group: as lists of all showed it last, with what this process has made and removed since. Kept for planning alone; before
 * something that others may need is taken away, it is read anew.
 */
export interface UsersOfGroups {
  /** Undefined until both kinds have been listed. */
  known(): GroupUsers | undefined;
  /** A complete list of one kind. */
  listed(kind: LoadBalancerKind, carriers: readonly Carrier[]): void;
  /** It is about to be made, or to carry these. */
  joins(carrier: Carrier): void;
  /** That came to nothing; undefined = it had not joined before, either. */
  joinedBefore(name: string): Carrier | undefined;
  forgetJoining(name: string, before: Carrier | undefined): void;
  /** It is not there. */
  left(name: string): void;
  /** Lists both kinds. Throws a CloudError. */
  read(options: ReadOptions): Promise<GroupUsers>;
}

export function createGroupUsers(parts: Pick<AwsParts, 'elb' | 'elbv2'>): UsersOfGroups {
  const lists = new Map<LoadBalancerKind, ReadonlyMap<string, readonly string[]>>();
  /** What a list may not show yet. */
  const joined = new Map<string, readonly string[]>();

  function known(): GroupUsers | undefined {
    const [classic, nlb] = [lists.get('classic'), lists.get('nlb')];
    if (classic === undefined || nlb === undefined) return undefined;
    const users = new Map<string, string[]>();
    for (const [name, groups] of [...classic, ...nlb, ...joined]) {
      for (const group of groups) {
        const names = users.get(group) ?? [];
        if (!names.includes(name)) names.push(name);
        users.set(group, names);
      }
    }
    return users;
  }

  function listed(kind: LoadBalancerKind, carriers: readonly Carrier[]): void {
    lists.set(kind, new Map(carriers.map(({ name, groups }) => [name, groups])));
  }

  return {
    known,
    listed,
    joins: ({ name, groups }) => joined.set(name, groups),
    joinedBefore(name) {
      const groups = joined.get(name);
      return groups && { name, groups };
    },
    forgetJoining(name, before) {
      if (before === undefined) joined.delete(name);
      else joined.set(name, before.groups);
    },
    left(name) {
      joined.delete(name);
      for (const [kind, list] of lists) {
        if (list.has(name)) lists.set(kind, new Map([...list].filter(([one]) => one !== name)));
      }
    },
    async read(options) {
      const [classic, nlb] = await Promise.all([readClassic(parts, options), readNetwork(parts, options)]);
      listed('classic', classic);
      listed('nlb', nlb);
      return known()!;
    },
  };
}

async function readClassic(parts: Pick<AwsParts, 'elb'>, options: ReadOptions): Promise<Carrier[]> {
  return everyPage('DescribeLoadBalancers', async (marker) => {
    const command = new DescribeLoadBalancersCommand({ PageSize: 400, Marker: marker });
    const { LoadBalancerDescriptions, NextMarker } = await parts.elb().read('DescribeLoadBalancers', command, options);
    const items = (LoadBalancerDescriptions ?? []).map(({ LoadBalancerName = '', SecurityGroups }) => ({
      name: LoadBalancerName,
      groups: SecurityGroups ?? [],
    }));
    return { items, next: NextMarker };
  });
}

async function readNetwork(parts: Pick<AwsParts, 'elbv2'>, options: ReadOptions): Promise<Carrier[]> {
  return everyPage('DescribeLoadBalancers', async (marker) => {
    const command = new DescribeNetworkLoadBalancersCommand({ PageSize: 400, Marker: marker });
    const { LoadBalancers, NextMarker } = await parts.elbv2().read('DescribeLoadBalancers', command, options);
    const items = (LoadBalancers ?? []).map(({ LoadBalancerName = '', SecurityGroups }) => ({
      name: LoadBalancerName,
      groups: SecurityGroups ?? [],
    }));
    return { items, next: NextMarker };
  });
}
