import {
  DescribeListenersCommand,
  DescribeLoadBalancerAttributesCommand,
  DescribeLoadBalancersCommand,
  DescribeTagsCommand,
  DescribeTargetGroupAttributesCommand,
  DescribeTargetGroupsCommand,
  DescribeTargetHealthCommand,
  type LoadBalancer as ElbLoadBalancer,
  type TargetGroup as ElbTargetGroup,
} from '@aws-sdk/client-elastic-load-balancing-v2';
import { CloudError, isCloudError } from '../../../../common/cloud-error.ts';
import { chunks, inParallel } from '../../parallel.ts';
import { tagMap } from '../cluster-tags.ts';
import { listInstances } from '../ec2.ts';
import type { Tags } from '../load-balancer-tags.ts';
import { everyPage } from '../pages.ts';
import type { AwsParts } from '../parts.ts';
import type { Carrier } from '../security-groups/carriers.ts';
import type { NetworkReads } from '../security-groups/network-reads.ts';
import type { ReadOptions } from '../service-calls.ts';
import { listenerOf, targetsOf } from './answers.ts';
import type { Listener } from './network-load-balancer.ts';

/** As many as one call of DescribeTags takes. */
const arnsPerCall = 20;
const pageSize = 400;
/** How many calls a look at many things has under way. */
export const callsAtOnce = 4;

/** Names or ARNs; without either, all. */
export interface BalancerFilter {
  readonly Names?: string[];
  readonly LoadBalancerArns?: string[];
}

/** Names, ARNs, or what forwards to them; without any, all. */
export interface GroupFilter {
  readonly LoadBalancerArn?: string;
  readonly Names?: string[];
  readonly TargetGroupArns?: string[];
}

export type NlbQueries = ReturnType<typeof createNlbQueries>;

/** What AWS is asked about network load balancers. What does not exist is left out. All throw a CloudError. */
export function createNlbQueries(parts: Pick<AwsParts, 'ec2' | 'elbv2'>, network: Pick<NetworkReads, 'vpc'>) {
  async function loadBalancers(filter: BalancerFilter, options: ReadOptions): Promise<ElbLoadBalancer[]> {
    const single = filter.Names !== undefined || filter.LoadBalancerArns !== undefined;
    return unlessGone([], () =>
      everyPage('DescribeLoadBalancers', async (Marker) => {
        const command = new DescribeLoadBalancersCommand({
          ...filter,
          ...(single ? {} : { PageSize: pageSize }),
          Marker,
        });
        const answer = await parts.elbv2().read(command, options);
        return { items: answer.LoadBalancers ?? [], next: answer.NextMarker };
      }),
    );
  }

  async function targetGroups(filter: GroupFilter, options: ReadOptions): Promise<ElbTargetGroup[]> {
    return unlessGone([], () =>
      everyPage('DescribeTargetGroups', async (Marker) => {
        const command = new DescribeTargetGroupsCommand({
          ...filter,
          ...(filter.Names || filter.TargetGroupArns ? {} : { PageSize: pageSize }),
          Marker,
        });
        const answer = await parts.elbv2().read(command, options);
        return { items: answer.TargetGroups ?? [], next: answer.NextMarker };
      }),
    );
  }

  /** Tags by ARN; of what is gone by now, nothing. */
  async function tagsOf(arns: readonly string[], options: ReadOptions): Promise<ReadonlyMap<string, Tags>> {
    const found = new Map<string, Tags>();
    const ask = async (some: readonly string[]): Promise<void> => {
      try {
        const command = new DescribeTagsCommand({ ResourceArns: [...some] });
        const { TagDescriptions } = await parts.elbv2().read(command, options);
        for (const { ResourceArn = '', Tags } of TagDescriptions ?? []) found.set(ResourceArn, tagMap(Tags));
        const missing = some.find((arn) => !found.has(arn));
        if (missing !== undefined) throw incomplete('DescribeTags', `nothing is said about ${missing}`);
      } catch (error) {
        if (!isGone(error)) throw error;
        // One that has gone spoils the answer for all; alone it says so itself.
        if (some.length > 1) await inParallel(callsAtOnce, some, (arn) => ask([arn]));
        else await proveGone(some[0]!, options);
      }
    };
    await inParallel(callsAtOnce, chunks([...new Set(arns)], arnsPerCall), ask);
    return found;
  }

  /** Throws `Unavailable` where it is there: AWS tells of new things late, and not in all calls at once. */
  async function proveGone(arn: string, options: ReadOptions): Promise<void> {
    const found = arn.includes(':loadbalancer/')
      ? await loadBalancers({ LoadBalancerArns: [arn] }, options)
      : arn.includes(':targetgroup/')
        ? await targetGroups({ TargetGroupArns: [arn] }, options)
        : [];
    if (found.length > 0) throw incomplete('DescribeTags', `${arn} is there, and not all of it shows yet`);
  }

  /**
   * Of one load balancer, with their tags.
   *
   * @param known ARNs of target groups: listeners that forward to one of these are left out
   */
  async function listeners(
    arn: string,
    options: ReadOptions,
    known: readonly string[] = [],
  ): Promise<readonly Listener[]> {
    const all = await everyPage('DescribeListeners', async (Marker) => {
      const answer = await parts.elbv2().read(new DescribeListenersCommand({ LoadBalancerArn: arn, Marker }), options);
      return { items: answer.Listeners ?? [], next: answer.NextMarker };
    });
    const answers = all.filter((answer) => !known.includes(listenerOf(answer, {}).group ?? ''));
    const arns = answers.map(({ ListenerArn = '' }) => ListenerArn);
    const tags = await tagsOf(arns, options);
    return answers.flatMap((answer) => {
      const its = tags.get(answer.ListenerArn ?? '');
      return its ? [listenerOf(answer, its)] : [];
    });
  }

  async function attributes(arn: string, options: ReadOptions): Promise<Tags> {
    const command = new DescribeLoadBalancerAttributesCommand({ LoadBalancerArn: arn });
    const answer = await parts.elbv2().read(command, options);
    return tagMap(answer.Attributes);
  }

  async function targets(arn: string, options: ReadOptions) {
    const answer = await parts.elbv2().read(new DescribeTargetHealthCommand({ TargetGroupArn: arn }), options);
    return targetsOf(answer.TargetHealthDescriptions);
  }

  async function groupAttributes(arn: string, options: ReadOptions): Promise<Tags> {
    const answer = await parts.elbv2().read(new DescribeTargetGroupAttributesCommand({ TargetGroupArn: arn }), options);
    return tagMap(answer.Attributes);
  }

  /** ProviderIDs by IP address. */
  async function instancesByAddress(
    addresses: readonly string[],
    options: ReadOptions,
  ): Promise<ReadonlyMap<string, string>> {
    const found = new Map<string, string>();
    if (addresses.length === 0) return found;
    const vpc = await network.vpc(options);
    const kinds = [
      ['private-ip-address', addresses.filter((one) => !one.includes(':'))],
      ['network-interface.ipv6-addresses.ipv6-address', addresses.filter((one) => one.includes(':'))],
    ] as const;
    const asked = kinds.flatMap(([Name, all]) => chunks(all, 200).map((Values) => ({ Name, Values: [...Values] })));
    await inParallel(callsAtOnce, asked, async (filter) => {
      const instances = await listInstances(parts.ec2, [{ Name: 'vpc-id', Values: [vpc] }, filter], options);
      for (const { InstanceId, Placement, NetworkInterfaces } of instances) {
        for (const { PrivateIpAddresses, Ipv6Addresses } of NetworkInterfaces ?? []) {
          const its = [
            ...(PrivateIpAddresses ?? []).map(({ PrivateIpAddress }) => PrivateIpAddress),
            ...(Ipv6Addresses ?? []).map(({ Ipv6Address }) => Ipv6Address),
          ];
          for (const address of its)
            if (address !== undefined) found.set(address, `aws:///${Placement?.AvailabilityZone ?? ''}/${InstanceId}`);
        }
      }
    });
    return found;
  }

  return {
    async carriers(options: ReadOptions): Promise<readonly Carrier[]> {
      const all = await loadBalancers({}, options);
      return all.map(
        ({ LoadBalancerName: name = '', LoadBalancerArn: id = '', DNSName: hostname = '', SecurityGroups }) => {
          return { name, id, hostname, groups: SecurityGroups ?? [], tags: undefined };
        },
      );
    },
    proveGone,
    loadBalancers,
    targetGroups,
    tagsOf,
    listeners,
    attributes,
    targets,
    groupAttributes,
    instancesByAddress,
  };
}

function isGone(error: unknown): boolean {
  return isCloudError(error) && error.kind === 'NotFound';
}

/** @param otherwise the answer where it does not exist, or goes meanwhile */
export async function unlessGone<Answer>(otherwise: Answer, run: () => Promise<Answer>): Promise<Answer> {
  try {
    return await run();
  } catch (error) {
    if (isGone(error)) return otherwise;
    throw error;
  }
}

function incomplete(operation: string, message: string): CloudError {
  return new CloudError({ kind: 'Unavailable', cloud: 'aws', operation, message });
}
