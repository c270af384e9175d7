import { everyService } from '../../../controller/engine/resource.ts';
import type { CloudSuite } from '../suite/cloud-suite.ts';
import type { CloudWorld, InventoryItem } from '../suite/world.ts';
import { type AwsWorldOptions, startAwsWorld } from './aws-world.ts';

/** Has the suites of both types of load balancers. */
const conformance = 'test/clouds/aws/conformance.test.ts';

/** What speaks AWS's APIs. */
export interface AwsServer {
  /** `moto` */
  readonly on: string;
  /** Whether it says that the instance of a route is gone. */
  readonly blackholes: boolean;
  /** As in the capabilities of the suite. */
  readonly faultStride?: number;
  start(): Promise<Started>;
}

interface Started extends Pick<AwsWorldOptions, 'server' | 'exchange' | 'rules'> {
  close?(): Promise<void>;
}

/** The suite of every cloud, for Services that ask for classic load balancers. */
export function classicSuite({ on, faultStride = 1, start }: AwsServer): CloudSuite {
  return {
    name: `AWS on ${on}, classic load balancers`,
    capabilities: {
      deletedVm: 'gone',
      loadBalancers: {
        protocols: ['TCP'],
        sourceRanges: true,
        sessionAffinity: false,
        uniqueNames: true,
        attach: false,
        drains: false,
        retain: true,
        refusesMembers: true,
        createdElsewhere: { listener: conformance, 'target group': conformance },
        calls: { first: 7, further: 5, member: 1, removal: 3 },
      },
      routes: undefined,
      enumerateFaults: true,
      faultStride,
    },
    async open() {
      const server = await start();
      const world = await startAwsWorld({ ...server, kind: 'classic' });
      return {
        ...world,
        async deleteLoadBalancer(id) {
          await world.deleteLoadBalancer(nameIn(id));
          await removeLeftover(world, everyService);
        },
        async close() {
          await world.close();
          await server.close?.();
        },
      };
    },
  };
}

/** The suite of every cloud, for Services that ask for network load balancers, and for routes. */
export function networkSuite({ on, blackholes, faultStride = 1, start }: AwsServer): CloudSuite {
  return {
    name: `AWS on ${on}, network load balancers`,
    capabilities: {
      deletedVm: 'gone',
      loadBalancers: {
        // One target group sends TCP and UDP of a port to one port of its members; the facts ask for two.
        protocols: ['TCP'],
        sourceRanges: true,
        sessionAffinity: false,
        uniqueNames: true,
        attach: true,
        retain: true,
        drains: false,
        refusesMembers: true,
        createdElsewhere: { attributes: conformance },
        calls: { first: 11, further: 9, member: 2, removal: 5 },
        // A target group serves one load balancer.
        moves: false,
      },
      routes: { tags: false, blackholes, quota: false },
      enumerateFaults: true,
      faultStride,
    },
    async open() {
      const server = await start();
      const world = await startAwsWorld({ ...server, kind: 'nlb', config: ['NLBSecurityGroupMode = Managed'] });
      return {
        ...world,
        inventory: async () => (await world.inventory()).map(withoutHash),
        async deleteLoadBalancer(id) {
          await world.deleteLoadBalancer(id);
          await removeLeftover(world, everyService);
        },
        async close() {
          await world.close();
          await server.close?.();
        },
      };
    },
  };
}

/** A person deletes a classic load balancer by its name. */
function nameIn(id: string): string {
  return id.replace(/-\d+\.eu-west-1\.elb\.amazonaws\.com$/, '');
}

/**
 * Names of target groups and security groups end in a hash over the Service's name, so that two Services cannot be
 * compared by them.
 */
function withoutHash({ kind, name }: InventoryItem): InventoryItem {
  return { kind, name: name.replaceAll(/k8s-default-web[0-9a-f]{5}-[0-9a-f]{10}/g, 'k8s-default-web') };
}

/** What load balancers share outlasts the last one where a person deleted that; the sweep of orphans finds it. */
async function removeLeftover({ cluster, open, pass }: CloudWorld, service: string): Promise<void> {
  const { loadBalancers } = await open();
  if (loadBalancers === undefined) return;
  // Which groups are carried is known once the lists of both kinds have come.
  await loadBalancers.observeAll(cluster);
  // A group that is in use for a while is tried again.
  for (let round = 0; round < 10; round += 1) {
    const all = await loadBalancers.observeAll(cluster);
    let left = all.find(({ owner }) => owner?.service === service);
    if (left === undefined) return;
    while (left !== undefined) {
      const plan = loadBalancers.planRemoval(left.owner!, { retain: false });
      if (plan.steps.length === 0) {
        await pass(plan.waitMs ?? 0);
        break;
      }
      left = await loadBalancers.apply(plan, { permit: () => {} });
    }
  }
}
