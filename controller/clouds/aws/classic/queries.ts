import {
  DescribeLoadBalancerAttributesCommand,
  DescribeLoadBalancersCommand,
  DescribeTagsCommand,
  type LoadBalancerDescription,
} from '@aws-sdk/client-elastic-load-balancing';
import { type CloudError, isCloudError } from '../../../../common/cloud-error.ts';
import type { Found, ReadIo } from '../../../engine/resource.ts';
import { unlessNotFound } from '../../not-found.ts';
import { chunks, inParallel } from '../../parallel.ts';
import { tagMap } from '../cluster-tags.ts';
import { awsError } from '../errors.ts';
import type { Tags } from '../load-balancer-tags.ts';
import { everyPage } from '../pages.ts';
import type { AwsParts } from '../parts.ts';
import type { Carrier } from '../security-groups/carriers.ts';
import type { ReadOptions } from '../service-calls.ts';
import { type ClassicLoadBalancer, probedPort, readAttributes, readLoadBalancer } from './classic-load-balancer.ts';
import { showAttributes } from './resources.ts';

/** DescribeTags takes so many names. */
const namesPerTagsCall = 20;
const callsAtOnce = 4;

export type ClassicQueries = ReturnType<typeof createClassicQueries>;

/** As a list of both types shows it. */
export function carrierOf(balancer: ReturnType<typeof readLoadBalancer> & { readonly tags?: Tags }): Carrier {
  const { name, hostname, securityGroups, tags, health } = balancer;
  return { name, id: hostname, hostname, groups: securityGroups, tags, probes: probedPort(health) };
}

/** What AWS is asked about classic load balancers. All throw a CloudError. */
export function createClassicQueries(parts: Pick<AwsParts, 'elb'>) {
  /**
   * One that has gone since it was listed is left out, and does not spoil the others. What is said to have gone and is
   * there makes the whole answer worth nothing.
   */
  async function tagsOfSome(
    names: readonly string[],
    options: ReadOptions,
  ): Promise<readonly (readonly [string, Tags])[]> {
    const command = new DescribeTagsCommand({ LoadBalancerNames: [...names] });
    try {
      const { TagDescriptions } = await parts.elb().read(command, options);
      const found = new Map(
        (TagDescriptions ?? []).map(({ LoadBalancerName = '', Tags: tags }) => [LoadBalancerName, tagMap(tags)]),
      );
      const missing = names.find((name) => !found.has(name));
      if (missing !== undefined) throw incomplete(missing);
      return [...found];
    } catch (error) {
      if (!isCloudError(error) || error.kind !== 'NotFound') throw error;
      const [name = ''] = names;
      if (names.length === 1) {
        if ((await describe(name, options)) !== undefined) throw incomplete(name);
        return [];
      }
      const each = await inParallel(callsAtOnce, names, (one) => tagsOfSome([one], options));
      return each.flat();
    }
  }

  async function describe(name: string, options: ReadOptions): Promise<LoadBalancerDescription | undefined> {
    const command = new DescribeLoadBalancersCommand({ LoadBalancerNames: [name] });
    const answer = await unlessNotFound(parts.elb().read(command, options));
    return answer?.LoadBalancerDescriptions?.find(({ LoadBalancerName }) => LoadBalancerName === name);
  }

  /** One by its name, with its tags; undefined when it is not there. */
  async function get(name: string, options: ReadOptions): Promise<ClassicLoadBalancer | undefined> {
    const described = await describe(name, options);
    if (described === undefined) return undefined;
    const [found] = await tagsOfSome([name], options);
    if (found === undefined) return undefined;
    return { ...readLoadBalancer(described), tags: found[1] };
  }

  const described = (options: ReadOptions) =>
    everyPage('DescribeLoadBalancers', async (Marker) => {
      const answer = await parts.elb().read(new DescribeLoadBalancersCommand({ PageSize: 400, Marker }), options);
      return { items: (answer.LoadBalancerDescriptions ?? []).map(readLoadBalancer), next: answer.NextMarker };
    });

  /** All of the region, with their tags. */
  async function list(options: ReadOptions): Promise<readonly ClassicLoadBalancer[]> {
    const all = await described(options);
    const names = chunks(
      all.map(({ name }) => name),
      namesPerTagsCall,
    );
    const read = await inParallel(callsAtOnce, names, (some) => tagsOfSome(some, options));
    const tags = new Map(read.flat());
    const instances = shareLists();
    return all.flatMap((one): ClassicLoadBalancer[] => {
      const its = tags.get(one.name);
      if (its === undefined) return [];
      return [{ ...one, instances: instances(one.instances), tags: its }];
    });
  }

  return {
    get,
    list,
    attributesOf,
    carriers: async (options: ReadOptions): Promise<readonly Carrier[]> => (await described(options)).map(carrierOf),
  };

  async function attributesOf({ id, body }: Found<ClassicLoadBalancer>, { signal }: ReadIo): Promise<Found[]> {
    const command = new DescribeLoadBalancerAttributesCommand({ LoadBalancerName: body.name });
    const answer = await unlessNotFound(parts.elb().read(command, { signal }));
    if (answer === undefined) return [];
    return [showAttributes(id, { name: body.name, attributes: readAttributes(answer.LoadBalancerAttributes) })];
  }
}

function incomplete(name: string): CloudError {
  return awsError('Unavailable', 'DescribeTags', `the answer leaves out load balancer ${name}, which is there`);
}

/** Hundreds of Services have equal sets of thousands of members: one array for all of them. */
function shareLists(): (list: readonly string[]) => readonly string[] {
  const lists = new Map<string, readonly string[]>();
  return (list) => {
    const key = list.join(' ');
    const held = lists.get(key) ?? list;
    lists.set(key, held);
    return held;
  };
}
