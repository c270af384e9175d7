import assert from 'node:assert/strict';
import { annotations as annotationKeys } from '../../../common/well-known.ts';
import { mergePatch } from '../../kit/world/kube-rest.ts';
import type { ClusterBalancer, ClusterCloud } from './life-cloud.ts';
import type { LifeStage } from './life-stage.ts';
import { type LifeStep, planStep, restartStep } from './life-steps.ts';

export const services = '/api/v1/namespaces/default/services';

/** A Service of type LoadBalancer that one of the clouds serves. */
export interface LifeService<Balancer extends ClusterBalancer = ClusterBalancer> {
  readonly name: string;
  readonly cloud: ClusterCloud<Balancer>;
  readonly annotations: Readonly<Record<string, string>>;
}

/** Of every cloud whose load balancers are tried. */
export function servicesOf<Balancer extends ClusterBalancer>({
  clouds,
}: LifeStage<ClusterCloud<Balancer>>): LifeService<Balancer>[] {
  return clouds.flatMap((cloud) =>
    cloud.balancers === undefined
      ? []
      : Object.entries(cloud.services ?? { web: {} }).map(([name, own]) => {
          const served = cloud.served.cloud;
          // Where there are several clouds, it says which one shall serve it.
          const annotations = clouds.length === 1 ? own : { ...own, [annotationKeys.cloud]: served };
          return { name: `${served}-${name}`, cloud, annotations };
        }),
  );
}

export async function addressesOf({ controller }: LifeStage<ClusterCloud>, name: string): Promise<readonly string[]> {
  const { body } = await controller.rest.call('GET', `${services}/${name}`);
  const shown = (body?.status?.loadBalancer?.ingress ?? []) as readonly {
    readonly ip?: string;
    readonly hostname?: string;
  }[];
  return shown.map(({ ip, hostname }) => String(ip ?? hostname));
}

/** That of a Service, by the address that the Service shows. */
async function balancerOf<Balancer extends ClusterBalancer>(
  stage: LifeStage<ClusterCloud>,
  { name, cloud }: LifeService<Balancer>,
): Promise<Balancer | undefined> {
  const [first] = await addressesOf(stage, name);
  return first === undefined
    ? undefined
    : (await cloud.balancers!()).find(({ addresses }) => addresses.includes(first));
}

export async function portsOf(stage: LifeStage<ClusterCloud>, service: LifeService): Promise<string> {
  return [...((await balancerOf(stage, service))?.ports ?? [])].sort((a, b) => a - b).join();
}

/** Whether each Node of its cloud is a member of its load balancer, and nothing else is. */
export async function hasAllMembers(stage: LifeStage<ClusterCloud>, service: LifeService): Promise<boolean> {
  const nodes = stage.machines.filter((machine) => service.cloud.machines.includes(machine)).map(({ node }) => node);
  const members = (await balancerOf(stage, service))?.members ?? [];
  return [...members].sort().join() === nodes.sort().join();
}

export const createStep: LifeStep<ClusterCloud> = {
  title: 'gives each Service a load balancer with all Nodes of its cloud as members, and shows its addresses',
  async run(stage) {
    const { controller, wait } = stage;
    const all = servicesOf(stage);
    for (const { name, annotations } of all)
      await controller.rest.must('POST', services, {
        apiVersion: 'v1',
        kind: 'Service',
        metadata: { name, annotations },
        spec: { type: 'LoadBalancer', selector: { app: 'web' }, ports: [{ name: 'http', port: 80 }] },
      });
    for (const service of all) {
      const { name } = service;
      await wait(`all Nodes are members for ${name}`, () => hasAllMembers(stage, service));
      const { ports, addresses } = (await balancerOf(stage, service))!;
      assert.deepEqual([ports, await addressesOf(stage, name)], [[80], addresses], name);
    }
    for (const { balancers, services: tried = { web: {} } } of stage.clouds)
      if (balancers) assert.equal((await balancers()).length, Object.keys(tried).length);
  },
};

/** Deletes all of them, and waits until nothing of them is left. */
export async function removeServices(stage: LifeStage<ClusterCloud>): Promise<void> {
  const { controller, wait, clouds } = stage;
  const paths = servicesOf(stage).map(({ name }) => `${services}/${name}`);
  for (const path of paths) await controller.rest.must('DELETE', path);
  for (const path of paths)
    await wait(`${path} is gone`, async () => (await controller.rest.call('GET', path)).status === 404);
  for (const { balancers } of clouds) assert.deepEqual((await balancers?.()) ?? [], []);
  // What several Services share goes after the last of them.
  for (const { served, balancerParts = () => [] } of clouds)
    await wait(`nothing is left in ${served.cloud}`, async () => (await balancerParts()).length === 0);
}

/** The life of Services on every cloud, side by side, in a cluster that is at rest before and after it. */
export const serviceSteps: readonly LifeStep[] = [
  createStep,
  { ...restartStep, title: 'changes nothing of the load balancers after a restart' },
  { ...planStep, title: 'has an empty plan with the load balancers' },
  {
    title: 'puts a port back that a person removed, and adds one that a Service gets',
    async run(stage) {
      const { controller, wait } = stage;
      const all = servicesOf(stage);
      for (const service of all) {
        (await balancerOf(stage, service))!.removePorts();
        assert.equal(await portsOf(stage, service), '');
      }
      for (const service of all)
        await wait(`the port of ${service.name} is back`, async () => (await portsOf(stage, service)) === '80');
      for (const { name } of all) {
        const { body: found } = await controller.rest.call('GET', `${services}/${name}`);
        const ports = [...found.spec.ports, { name: 'https', port: 443 }];
        // A merge, since the controller may write into the Service at the same time.
        await controller.rest.must('PATCH', `${services}/${name}`, { spec: { ports } }, { type: mergePatch });
      }
      for (const service of all)
        await wait(`${service.name} has two ports`, async () => (await portsOf(stage, service)) === '80,443');
    },
  },
  {
    title: 'deletes each load balancer with its Service',
    run: removeServices,
  },
];
