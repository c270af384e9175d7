import { prefix } from '../../../controller/clouds/azure/annotations.ts';
import type { AdoptionProof, DesiredLoadBalancer } from '../../../controller/clouds/load-balancers.ts';
import { desiredFor, newOwner } from '../suite/desired.ts';
import { ensure as ensureService, remove, type ServiceRecord } from '../suite/drive.ts';
import type { CloudVm } from '../suite/world.ts';
import { type AzureWorld, type AzureWorldOptions, azureWorld } from './azure-world.ts';
import { subscription } from './fake/fake-state.ts';

export type Json = Record<string, unknown>;
export interface Part {
  readonly name: string;
  readonly properties: Json;
}

export const network = `/subscriptions/${subscription}/resourceGroups/rg/providers/Microsoft.Network`;
export const annotated = (own: Readonly<Record<string, string>>) =>
  Object.fromEntries(Object.entries(own).map(([name, value]) => [prefix + name, value]));
export const internal = { 'load-balancer-internal': 'true' };
export const internalFields = { annotations: annotated(internal) };

/** Services of one cluster on a fake Azure, each call by a fresh process. */
export async function withWorld(
  work: (scene: Awaited<ReturnType<typeof sceneOf>>) => Promise<void>,
  options?: AzureWorldOptions,
): Promise<void> {
  const scene = await sceneOf(azureWorld(options));
  await work(scene);
  await scene.world.close();
}

async function sceneOf(world: AzureWorld) {
  const vms: readonly CloudVm[] = [await world.createVm(), await world.createVm()];
  const records = new Map<string, ServiceRecord>();
  const { resources } = world.fake.network;

  async function drivingOf(desired: DesiredLoadBalancer) {
    const { loadBalancers } = await world.open();
    const record = records.get(desired.owner.service) ?? { id: undefined };
    records.set(desired.owner.service, record);
    return { world, balancers: loadBalancers!, desired, record };
  }
  const resource = (type: string, name: string) => resources.get(`${network}/${type}/${name}`.toLowerCase());
  const partsOf = (type: string, name: string, list: string) =>
    ((resource(type, name)?.body['properties'] as Json | undefined)?.[list] ?? []) as readonly Part[];
  return {
    world,
    vms,
    resource,
    partsOf,
    network: world.fake.network,
    service: (fields: Partial<DesiredLoadBalancer> = {}) => desiredFor(newOwner(world.cluster), vms, fields),
    ensure: async (desired: DesiredLoadBalancer, adopt?: AdoptionProof) =>
      ensureService({ ...(await drivingOf(desired)), adopt }),
    remove: async (desired: DesiredLoadBalancer) => remove(await drivingOf(desired)),
    rules: () =>
      partsOf('networkSecurityGroups', 'nodes', 'securityRules').filter(({ name }) => name.startsWith('k8s')),
    writes: (type: string) =>
      world.fake.calls.filter(({ method, path }) => method === 'PUT' && path.includes(`/${type}/`)).length,
    set(type: string, name: string, properties: Json): void {
      const found = resource(type, name)!;
      found.body = { ...found.body, properties: { ...(found.body['properties'] as Json), ...properties } };
      found.version += 1;
    },
  };
}
