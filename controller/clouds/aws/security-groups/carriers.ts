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
  /** The port that a classic one probes; undefined = not known. Those of network ones are in their target groups. */
  readonly probes?: number | undefined;
}

/**
 * Which load balancers there are, and which security groups they carry: as the last lists showed, with what this
 * process has made and removed since.
 */
export interface Carriers {
  /** Monotonic milliseconds, for when a read begins. */
  nowMs(): number;
  /** A complete list of one type. */
  listed(type: BalancerType, carriers: readonly Carrier[], beganAtMs: number): void;
  /** One as a read shows it. */
  seen(type: BalancerType, carrier: Carrier, beganAtMs: number): void;
  /** One as the answer to our own call shows it. */
  take(type: BalancerType, carrier: Carrier): void;
  /** A read did not show it. */
  left(type: BalancerType, name: string): void;
  /** We have deleted it: reads that began before, or within a minute, do not bring it back. */
  removed(type: BalancerType, carrier: Pick<Carrier, 'id' | 'name'>): void;
  all(): readonly Carrier[];
  /** Names of those that carry a group; undefined until both types have been listed. */
  of(group: string): readonly string[] | undefined;
  /** Makes a load balancer that will carry these groups, or has it carry them: its use of them counts from before. */
  carrying<Made>(name: string, groups: readonly string[], make: () => Promise<Made>): Promise<Made>;
  /** Lists both types. Throws a CloudError. */
  read(options: ReadOptions): Promise<void>;
}

/** For how long a read may still show what was deleted. */
const shownForMs = 60_000;
/** No read takes longer, its retries included. */
const longestReadMs = 900_000;

export function createCarriers(
  parts: Pick<AwsParts, 'elb' | 'elbv2'> & { readonly context: Pick<AwsParts['context'], 'clock'> },
): Carriers {
  const { clock } = parts.context;
  const lists = { classic: new Map<string, Carrier>(), network: new Map<string, Carrier>() };
  const complete = new Set<BalancerType>();
  /** Groups by name, of what a list may not show yet. */
  const joined = new Map<string, readonly string[]>();
  /** When we deleted what reads may still show, by id. */
  const removedAt = new Map<string, number>();

  const all = () => [...lists.classic.values(), ...lists.network.values()];

  const nowMs = () => clock.monotonic();
  const wasRemoved = (id: string, beganAtMs: number) =>
    beganAtMs < (removedAt.get(id) ?? Number.NEGATIVE_INFINITY) + shownForMs;

  /** A list without tags keeps what is known. */
  function listed(type: BalancerType, carriers: readonly Carrier[], beganAtMs: number): void {
    const before = lists[type];
    complete.add(type);
    for (const [id, atMs] of removedAt) if (nowMs() - atMs > longestReadMs) removedAt.delete(id);
    const there = carriers.filter(({ id }) => !wasRemoved(id, beganAtMs));
    const known = (one: Carrier) => (one.tags === undefined ? before.get(one.id) : undefined);
    lists[type] = new Map(
      there.map((one) => [
        one.id,
        { ...one, tags: one.tags ?? known(one)?.tags, probes: one.probes ?? known(one)?.probes },
      ]),
    );
  }

  function left(type: BalancerType, name: string): void {
    joined.delete(name);
    for (const [id, one] of lists[type]) if (one.name === name) lists[type].delete(id);
  }

  return {
    nowMs,
    listed,
    all,
    left,
    seen(type, carrier, beganAtMs) {
      if (!wasRemoved(carrier.id, beganAtMs)) lists[type].set(carrier.id, carrier);
    },
    take(type, carrier) {
      removedAt.delete(carrier.id);
      lists[type].set(carrier.id, carrier);
    },
    removed(type, { id, name }) {
      removedAt.set(id, nowMs());
      left(type, name);
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
      const beganAtMs = nowMs();
      const [classic, network] = await Promise.all([readClassic(parts, options), readNetwork(parts, options)]);
      listed('classic', classic, beganAtMs);
      listed('network', network, beganAtMs);
    },
  };
}

async function readClassic(parts: Pick<AwsParts, 'elb'>, options: ReadOptions): Promise<Carrier[]> {
  return everyPage('DescribeLoadBalancers', async (marker) => {
    const command = new DescribeLoadBalancersCommand({ PageSize: 400, Marker: marker });
    const { LoadBalancerDescriptions, NextMarker } = await parts.elb().read(command, options);
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
    const { LoadBalancers, NextMarker } = await parts.elbv2().read(command, options);
    const items = (LoadBalancers ?? []).map(
      ({ LoadBalancerName: name = '', LoadBalancerArn: id = '', DNSName: hostname = '', SecurityGroups }): Carrier => {
        return { name, id, hostname, groups: SecurityGroups ?? [], tags: undefined };
      },
    );
    return { items, next: NextMarker };
  });
}
