import { annotations, conditions, finalizers } from '../../../common/well-known.ts';
import { ownerTags } from '../../../controller/clouds/load-balancers.ts';
import type { SimulatedLoadBalancer } from '../cloud/load-balancer.ts';
import { ask, type Target } from '../data-plane/traffic.ts';
import { mergePatch } from './kube-rest.ts';
import { assertThat, until } from './scenario.ts';
import type { World } from './world.ts';

// biome-ignore lint/suspicious/noExplicitAny: a Service as the API server sends it
export type ServiceObject = any;

const collection = '/api/v1/namespaces/default/services';

export interface ServiceFields {
  readonly name: string;
  readonly policy?: 'Cluster' | 'Local';
  readonly sourceRanges?: readonly string[];
  readonly ports?: readonly { readonly name: string; readonly port: number }[];
  readonly annotations?: Readonly<Record<string, string>>;
  readonly loadBalancerClass?: string;
}

/** Creates a Service of type LoadBalancer in the namespace default; port 80 unless told otherwise. */
export async function createService(world: World, fields: ServiceFields): Promise<ServiceObject> {
  const { name, policy = 'Cluster', ports = [{ name: 'http', port: 80 }] } = fields;
  return world.rest.must('POST', collection, {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name, ...(fields.annotations && { annotations: fields.annotations }) },
    spec: {
      type: 'LoadBalancer',
      selector: { app: name },
      externalTrafficPolicy: policy,
      ports,
      ...(fields.sourceRanges && { loadBalancerSourceRanges: fields.sourceRanges }),
      ...(fields.loadBalancerClass && { loadBalancerClass: fields.loadBalancerClass }),
    },
  });
}

/** Creates it unless it is there from an earlier scenario; resolves when it has its load balancer. */
export async function haveService(world: World, fields: ServiceFields): Promise<ServiceObject> {
  if ((await serviceNamed(world, fields.name)) === undefined) await createService(world, fields);
  return ensured(world, fields.name);
}

export async function serviceNamed(world: World, name: string): Promise<ServiceObject | undefined> {
  const answer = await world.rest.call('GET', `${collection}/${name}`);
  return answer.status === 200 ? answer.body : undefined;
}

export async function patchService(world: World, name: string, patch: unknown): Promise<ServiceObject> {
  return world.rest.must('PATCH', `${collection}/${name}`, patch, { type: mergePatch });
}

export async function deleteService(world: World, name: string): Promise<void> {
  await world.rest.must('DELETE', `${collection}/${name}`);
}

/** Resolves when the API server has it no longer. */
export async function serviceGone(world: World, name: string): Promise<void> {
  await until(`${name} is gone`, 30_000, async () => (await serviceNamed(world, name)) === undefined);
}

export async function loadBalancerServices(world: World): Promise<ServiceObject[]> {
  const { items } = await world.rest.must('GET', collection);
  return items.filter(({ spec }: ServiceObject) => spec.type === 'LoadBalancer');
}

export function addressOf(service: ServiceObject): string | undefined {
  return service?.status?.loadBalancer?.ingress?.[0]?.ip;
}

export function balancerCondition(
  service: ServiceObject,
): { status: string; reason: string; message: string } | undefined {
  return service?.status?.conditions?.find(({ type }: { type: string }) => type === conditions.loadBalancer);
}

export function hasFinalizer(service: ServiceObject): boolean {
  return (service?.metadata?.finalizers ?? []).includes(finalizers.loadBalancerCleanup);
}

export function recordOf(service: ServiceObject): string | undefined {
  return service?.metadata?.annotations?.[annotations.loadBalancer];
}

/** The id in its record. */
export function recordedId(service: ServiceObject): string | undefined {
  return recordOf(service)?.split(' ')[1];
}

/** Waits until the Service has an address and says that all is as it asks. */
export async function ensured(world: World, name: string, timeoutMs = 30_000): Promise<ServiceObject> {
  let seen: ServiceObject;
  return until(
    `Service ${name} has its load balancer`,
    timeoutMs,
    async () => {
      seen = await serviceNamed(world, name);
      return addressOf(seen) && balancerCondition(seen)?.status === 'True' ? seen : undefined;
    },
    () => JSON.stringify(seen?.status),
  );
}

/** Where a client reaches a port of the Service. */
export function targetOf(world: World, service: ServiceObject, port = 80): Target {
  const address = addressOf(service);
  assertThat(address, `Service ${service?.metadata?.name} has no address`);
  return world.dataPlane.reach(address, port);
}

/** The nodes that answer so many connections in a row; a connection that fails is tried again until the time is up. */
export async function answeredBy(target: Target, count: number): Promise<string[]> {
  const nodes = new Set<string>();
  for (let number = 0; number < count; number += 1) nodes.add((await ask(target)).node);
  return [...nodes].sort();
}

/** Waits until exactly these nodes answer. */
export async function answering(target: Target, nodes: readonly string[], timeoutMs = 15_000): Promise<void> {
  const wanted = [...nodes].sort().join(' ');
  let last = '';
  await until(
    `traffic is answered by ${wanted}`,
    timeoutMs,
    async () => {
      last = await answeredBy(target, nodes.length * 3).then(
        (seen) => seen.join(' '),
        (error) => String(error),
      );
      return last === wanted;
    },
    () => last,
  );
}

/** What stands in the cloud for a Service, by its tags. */
export function balancersOf(world: World, service: ServiceObject): SimulatedLoadBalancer[] {
  return world.cloud.network.loadBalancers.store
    .all()
    .filter(({ tags }) => tags[ownerTags.service] === service.metadata.uid);
}

/** The weight that the instance has in the load balancers of a Service: undefined = it is no member. */
export function weightOf(world: World, service: ServiceObject, instanceId: string): number | undefined {
  const members = balancersOf(world, service).flatMap(({ pools }) => pools.flatMap(({ members: all }) => all));
  return members.find((member) => member.instanceId === instanceId)?.weight;
}

const reads = /\.(get|list|lookup|find)$/;

/** Calls to the cloud that change something, by operation. */
export function mutatingCalls(world: World): Map<string, number> {
  const counted = new Map<string, number>();
  for (const [operation, codes] of Object.entries(world.cloud.calls.snapshot())) {
    if (reads.test(operation)) continue;
    counted.set(
      operation,
      Object.values(codes).reduce((sum, count) => sum + count, 0),
    );
  }
  return counted;
}

/** The mutating calls since an earlier moment, in words; empty when there were none. */
export function mutationsSince(world: World, before: ReadonlyMap<string, number>): string {
  return [...mutatingCalls(world)]
    .map(([operation, count]) => [operation, count - (before.get(operation) ?? 0)] as const)
    .filter(([, count]) => count > 0)
    .map(([operation, count]) => `${count} ${operation}`)
    .join(', ');
}

/** Nodes whose VM runs and is part of the sandbox's network, by name. */
export async function livingNodes(world: World): Promise<string[]> {
  const running = new Set(world.dataPlane.nodes());
  const { items } = await world.rest.must('GET', '/api/v1/nodes');
  return items
    .map(({ metadata }: { metadata: { name: string } }) => metadata.name)
    .filter((name: string) => running.has(name));
}
