import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { CloudCall } from '../../controller/clouds/cloud.ts';
import { alibabaWorld } from './alibaba/alibaba-world.ts';
import { startAwsWorld } from './aws/aws-world.ts';
import { classicRules } from './aws/classic-rules.ts';
import { startFakeEc2 } from './aws/fake/fake-ec2.ts';
import { loadBalancerRules } from './aws/load-balancer-rules.ts';
import { azureWorld } from './azure/azure-world.ts';
import { cloudStackWorld } from './cloudstack/cloudstack-world.ts';
import { digitalOceanWorld } from './digitalocean/digitalocean-world.ts';
import { fakeGceWorld } from './gce/gce-world.ts';
import { hetznerWorld } from './hetzner/hetzner-world.ts';
import { huaweiWorld } from './huawei/huawei-world.ts';
import { fakeOpenStackWorld } from './openstack/fake-world.ts';
import { fakeOctaviaWorld, octaviaConfig } from './openstack/octavia-world.ts';
import { type CountedWorld, countOperations, type OperationName } from './suite/count-operations.ts';
import type { CloudWorld } from './suite/world.ts';

type OnCall = (call: CloudCall) => void;

/** Most calls for one Service of two ports on 20 nodes, reads included and polls of an operation left out. */
interface Bounds {
  readonly first: number;
  readonly further: number;
  readonly member: number;
  /** With the read before it. */
  readonly removal: number;
  /** That nothing of the deleted one is left. */
  readonly proof: number;
  /** Of all Services. */
  readonly audit: number;
}

const operations: Readonly<Record<keyof Bounds, OperationName>> = {
  first: 'first ensure',
  further: 'first ensure, each further Service',
  member: 'one node more, one Service',
  removal: 'deletion',
  proof: 'deletion: proof that nothing is left',
  audit: 'nothing changed, all Services',
};

interface Example {
  readonly cloud: string;
  open(onCall: OnCall): CloudWorld | Promise<CountedWorld>;
  readonly bounds: Bounds;
  readonly services?: number;
}

const examples: readonly Example[] = [
  {
    cloud: 'hetzner',
    open: (onCall) => hetznerWorld({ onCall }),
    bounds: { first: 2, further: 2, member: 2, removal: 2, proof: 1, audit: 2 },
  },
  {
    cloud: 'huaweicloud',
    open: (onCall) => huaweiWorld({ onCall }),
    bounds: { first: 10, further: 9, member: 2, removal: 7, proof: 7, audit: 7 },
  },
  {
    cloud: 'alibaba',
    open: (onCall) => alibabaWorld({ onCall }),
    bounds: { first: 7, further: 7, member: 2, removal: 3, proof: 5, audit: 5 },
  },
  {
    cloud: 'cloudstack',
    open: (onCall) => cloudStackWorld({ onCall }),
    bounds: { first: 12, further: 12, member: 2, removal: 4, proof: 2, audit: 4 },
  },
  {
    cloud: 'digitalocean',
    open: (onCall) => digitalOceanWorld({ onCall }),
    bounds: { first: 3, further: 3, member: 1, removal: 2, proof: 1, audit: 2 },
  },
  {
    cloud: 'gce, target pools',
    open: (onCall) => fakeGceWorld('target pools', '', onCall),
    bounds: { first: 10, further: 6, member: 2, removal: 6, proof: 3, audit: 5 },
  },
  {
    cloud: 'gce, internal',
    open: (onCall) => fakeGceWorld('internal load balancers', '', onCall),
    bounds: { first: 20, further: 6, member: 2, removal: 6, proof: 3, audit: 6 },
  },
  {
    cloud: 'azure',
    open: (onCall) => {
      const world = azureWorld({ onCall });
      // So that a list is one call.
      world.fake.pageSize = 100;
      return world;
    },
    bounds: { first: 4, further: 3, member: 1, removal: 4, proof: 1, audit: 3 },
  },
  {
    cloud: 'openstack',
    open: (onCall) =>
      fakeOpenStackWorld({
        config: octaviaConfig,
        onCall,
        octavia(fake, _cluster, clock) {
          const world = fakeOctaviaWorld(fake);
          // With amphorae, roughly.
          const takes = { createMs: 40_000, updateMs: 2_000, deleteMs: 8_000 };
          world.octavia.takes = { ...takes, nowMs: () => clock.monotonic() };
          return world;
        },
      }),
    bounds: { first: 6, further: 3, member: 4, removal: 7, proof: 3, audit: 5 },
  },
  {
    cloud: 'aws, network',
    open: () => awsOn('nlb'),
    // While its groups are in use they are looked at in real time: fewer Services than elsewhere.
    services: 2,
    bounds: { first: 13, further: 9, member: 2, removal: 11, proof: 3, audit: 9 },
  },
  {
    cloud: 'aws, classic',
    open: () => awsOn('classic'),
    bounds: { first: 9, further: 5, member: 1, removal: 6, proof: 2, audit: 5 },
  },
];

async function awsOn(kind: 'nlb' | 'classic'): Promise<CountedWorld> {
  const { url, close } = await startFakeEc2();
  const world =
    kind === 'nlb'
      ? await startAwsWorld({
          server: url,
          kind,
          rules: loadBalancerRules(),
          config: ['NLBSecurityGroupMode = Managed'],
        })
      : await startAwsWorld({ server: url, kind, rules: classicRules() });
  const closeBoth = async () => {
    await world.close();
    await close();
  };
  return { calls: world.reported, world: { ...world, close: closeBoth } };
}

describe('the calls of one Service', () => {
  for (const { cloud, open, bounds, services = 5 } of examples)
    it(`sends no more calls for a Service than its bounds on ${cloud}`, async () => {
      const calls: CloudCall[] = [];
      const opened = await open((call) => void calls.push(call));
      const counted = 'calls' in opened ? opened : { world: opened, calls };
      try {
        const costs = await countOperations(counted, { nodes: 20, ports: 2, services });
        const sent = Object.fromEntries(
          Object.entries(operations).map(([name, operation]) => [
            name,
            costs.find(({ what }) => what === operation)!.calls,
          ]),
        ) as unknown as Bounds;
        for (const [name, most] of Object.entries(bounds))
          assert.ok(sent[name as keyof Bounds] <= most, `${name}: ${JSON.stringify(sent)}`);
      } finally {
        await counted.world.close();
      }
    });
});
