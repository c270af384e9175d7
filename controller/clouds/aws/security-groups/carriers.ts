import { DescribeLoadBalancersCommand } from '@aws-sdk/client-elastic-load-balancing';
import { DescribeLoadBalancersCommand as DescribeNetworkCommand } from '@aws-sdk/client-elastic-load-balancing-v2';
import { isCloudError } from '../../../../common/cloud-error.ts';
import type { Tags } from '../load-balancer-tags.ts';
import { everyPage } from '../pages.ts';
import type { AwsParts } from '../parts.ts';
import type { ReadOptions } from '../service-calls.ts';

export type BalancerType = 'classic' | 'network';

/** A load balancer of any owner, as a list or an answer to our own call shows it. */
export interface Carrier {
  readonly name: string;
  /** Host name of a classic one, ARN of a network one. */
  readonly id: string;
  readonly hostname: string;
  /** Ids of its security groups. */
  readonly groups: readonly string[];
  /** Undefined: not read, since its name says that it is of others. */
  readonly tags: Tags | undefined;
}

/**
 * Which load balancers there are, and which security groups they carry: as the last lists showed, with what this
 * process has made and removed since.
 */
export interface Carriers {
  /** A complete list of one type. */
  listed(type: BalancerType, carriers: readonly Carrier[]): void;
  /** One as it is now. */
  take(type: BalancerType, carrier: Carrier): void;
  /** It is not there. */
  left(type: BalancerType, name: string): void;
  all(): readonly Carrier[];
  /** Names of those that carry a group; undefined until both types have been listed. */
  of(group: string): readonly string[] | undefined;
  /** Makes a load balancer that will carry these groups, or has it carry them: its use of them counts from before. */
  carrying<Made>(name: string, groups: readonly string[], make: () => Promise<Made>): Promise<Made>;
  /** Lists both types. Throws a CloudError. */
  read(options: ReadOptions): Promise<void>;
}

export function createCarriers(parts: Pick<AwsParts, 'elb' | 'elbv2'>): Carriers {
  const lists = { classic: new Map<string, Carrier>(), network: new Map<string, Carrier>() };
  const complete = new Set<BalancerType>();
  /** Groups by name, of what a list may not show yet. */
  const joined = new Map<string, readonly string[]>();

  const all = () => [...lists.classic.values(), ...lists.network.values()];

  /** A list without tags keeps the tags that are known. */
  function listed(type: BalancerType, carriers: readonly Carrier[]): void {
    const before = lists[type];
    complete.add(type);
    lists[type] = new Map(carriers.map((one) => [one.id, { ...one, tags: one.tags ?? before.get(one.id)?.tags }]));
  }

  return {
    listed,
    all,
    take: (type, carrier) => void lists[type].set(carrier.id, carrier),
    left(type, name) {
      joined.delete(name);
      for (const [id, one] of lists[type]) if (one.name === name) lists[type].delete(id);
    },
    of(group) {
      if (complete.size < 2) return undefined;
      const named = [...all().map(({ name, groups }) => [name, groups] as const), ...joined];
      return [...new Set(named.flatMap(([name, groups]) => (groups.includes(group) ? [name] : [])))];
    },
    async carrying(name, groups, make) {
      const before = joined.get(name);
      joined.set(name, groups);
      try {
        return await make();
      } catch (error) {
        const mayHaveHappened = isCloudError(error) && (error.kind === 'Timeout' || error.kind === 'Unavailable');
        if (!mayHaveHappened && before === undefined) joined.delete(name);
        else if (!mayHaveHappened) joined.set(name, before!);
        throw error;
      }
    },
    async read(options) {
      const [classic, network] = await Promise.all([readClassic(parts, options), readNetwork(parts, options)]);
      listed('classic', classic);
      listed('network', network);
    },
  };
}

async function readClassic(parts: Pick<AwsParts, 'elb'>, options: ReadOptions): Promise<Carrier[]> {
  return everyPage('DescribeLoadBalancers', async (marker) => {
    const command = new DescribeLoadBalancersCommand({ PageSize: 400, Marker: marker });
    const { LoadBalancerDescriptions, NextMarker } = await parts.elb().read('DescribeLoadBalancers', command, options);
    const items = (LoadBalancerDescriptions ?? []).map(
      ({ LoadBalancerName: name = '', DNSName: hostname = '', SecurityGroups: groups = [] }): Carrier => {
        return { name, id: hostname, hostname, groups, tags: undefined };
      },
    );
    return { items, next: NextMarker };
  });
}

async function readNetwork(parts: Pick<AwsParts, 'elbv2'>, options: ReadOptions): Promise<Carrier[]> {
  return everyPage('DescribeLoadBalancers', async (marker) => {
    const command = new DescribeNetworkCommand({ PageSize: 400, Marker: marker });
    const { LoadBalancers, NextMarker } = await parts.elbv2().read('DescribeLoadBalancers', command, options);
    const items = (LoadBalancers ?? []).map(
      ({ LoadBalancerName: name = '', LoadBalancerArn: id = '', DNSName: hostname = '', SecurityGroups }): Carrier => {
        return { name, id, hostname, groups: SecurityGroups ?? [], tags: undefined };
      },
    );
    return { items, next: NextMarker };
  });
}
