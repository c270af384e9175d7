import type { LifeBalancer, LifeCloud } from '../life/life-cloud.ts';
import { type AwsWorld, awsKeys, startAwsWorld } from './aws-world.ts';
import { clusterParts, idOf } from './cluster-parts.ts';
import { type FakeEc2, startFakeEc2 } from './fake/fake-ec2.ts';

export interface AwsLife extends LifeCloud {
  readonly fake: FakeEc2;
  readonly world: AwsWorld;
}

/** Instances of two zones of one VPC. */
export async function openAwsLife(): Promise<AwsLife> {
  const fake = await startFakeEc2();
  const world = await startAwsWorld({
    server: fake.url,
    exchange: async (form) => fake.answer(form),
    kind: 'nlb',
    config: ['NLBSecurityGroupMode = Managed'],
  });
  fake.zones = new Map([
    ['eu-west-1a', 'euw1-az1'],
    ['eu-west-1b', 'euw1-az2'],
  ]);
  const { network } = world;
  const vms = [await world.createVm(), await world.createVm(), await world.createVm()];
  const nodes = new Map(vms.map(({ name, providerID }) => [idOf(providerID), name]));
  const nodeOf = (id: string) => nodes.get(id) ?? id;
  const change = (id: string, fields: object) => fake.instances.set(id, { ...fake.instances.get(id)!, ...fields });

  function networkBalancers(): LifeBalancer[] {
    return [...fake.balancers.values()].map(({ arn, hostname }) => {
      const listeners = [...fake.listeners.values()].filter(({ balancer }) => balancer === arn);
      const targets = listeners.map(({ group }) => fake.targetGroups.get(group)!.targets);
      return {
        members: [...new Set(targets.flatMap((all) => [...all].flatMap(([id, { draining }]) => (draining ? [] : id))))]
          .map(nodeOf)
          .sort(),
        ports: listeners.map(({ port }) => Number(port)),
        addresses: [hostname],
        removePorts() {
          for (const one of listeners) fake.listeners.delete(one.arn);
        },
      };
    });
  }
  const classicBalancers = (): LifeBalancer[] =>
    [...fake.classic.values()].map((one) => ({
      members: one.instances.map(nodeOf),
      ports: one.listeners.map(({ LoadBalancerPort }) => Number(LoadBalancerPort)),
      addresses: [one.hostname],
      removePorts() {
        one.listeners = [];
      },
    }));

  return {
    ...clusterParts(world),
    fake,
    world,
    balancers: () => [...networkBalancers(), ...classicBalancers()],
    balancerParts: () => [
      ...[...fake.targetGroups.values()].map(({ name }) => name),
      ...[...fake.groups.values()].filter(({ id }) => id !== network.nodeGroupId).map(({ name }) => name),
    ],
    machines: vms.map(({ name, providerID, zone }) => ({
      node: name,
      providerID,
      labels: {
        'topology.kubernetes.io/zone': zone!,
        'topology.kubernetes.io/region': 'eu-west-1',
        'node.kubernetes.io/instance-type': 'm5.large',
      },
      readdress: (publicIp) => void change(idOf(providerID), { publicIp }),
      stop: () => void change(idOf(providerID), { state: 'stopped' }),
      remove: () => void change(idOf(providerID), { state: 'terminated' }),
    })),
    routes: () =>
      [...fake.tables.get(network.routeTableId)!.routes].flatMap(([destination, { instance }]) =>
        instance === undefined ? [] : `${destination} ${nodeOf(instance)}`,
      ),
    checks: ['instances'],
    refuse: world.refuseCredential!,
    secrets: [awsKeys.secretAccessKey],
    async close() {
      await world.close();
      await fake.close();
    },
  };
}
