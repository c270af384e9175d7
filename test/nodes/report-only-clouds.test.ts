import assert from 'node:assert/strict';
import { afterEach, describe, it } from 'node:test';
import type { Instance } from '../../common/instance.ts';
import { silentLog } from '../../common/process/log.ts';
import { seededRandom } from '../../common/process/random.ts';
import { providerIdCodecs } from '../../common/provider-id/registry.ts';
import { reportVersion } from '../../common/report.ts';
import { fakeClock } from '../../common/testing/fake-clock.ts';
import { annotations, conditions, labels, names, taints } from '../../common/well-known.ts';
import { openClouds } from '../../controller/app/open-clouds.ts';
import { readCloudRequests } from '../../controller/app/options/options.ts';
import { cloudModules } from '../../controller/clouds/registry.ts';
import { explainNode } from '../../controller/commands/explain/explain-node.ts';
import { readNodeFacts } from '../../controller/commands/explain/read-node-facts.ts';
import type { ConfiguredCloud } from '../../controller/model/configured-cloud.ts';
import { createReportReader } from '../../controller/reports/read-report.ts';
import { createWorld, type Replica, type World } from './harness/world.ts';

interface Example {
  /** What an agent of this cloud reports. */
  readonly instance: Instance;
  /** Other texts for the same instance, which a kubelet may have been given. */
  readonly forms: readonly string[];
  /** The providerID of another instance of this cloud. */
  readonly other: string;
}

const addresses = [{ type: 'InternalIP' as const, address: '10.0.0.7' }];
const ocid = 'ocid1.instance.oc1.phx.anyhqljrabcdefghijklmnop';

function example(cloud: string, id: string, providerID: string, forms: readonly string[], other: string): Example {
  const instance = {
    cloud,
    id,
    providerID,
    incarnation: 'first',
    zone: 'z-1',
    region: 'r-1',
    type: 'large',
    addresses,
  };
  return { instance, forms, other };
}

const examples: readonly Example[] = [
  example('nocloud', 'hrobot://32', 'hrobot://32', [], 'hrobot://33'),
  example('oci', ocid, `oci://${ocid}`, [ocid], `${ocid}q`),
];

/** As a process opens a cloud that it was given by name alone. */
async function openByName(...providers: readonly string[]): Promise<readonly ConfiguredCloud[]> {
  const values = {
    cloudProvider: providers,
    cloudModule: [],
    cloudConfig: [],
    nodeSelector: [],
    requireAttestation: [],
  };
  const requests = await readCloudRequests(values as unknown as Parameters<typeof readCloudRequests>[0]);
  return openClouds(requests, {
    clock: fakeClock(),
    random: seededRandom(1),
    log: silentLog,
    env: {},
    onCall: () => assert.fail('a report-only cloud was called'),
  });
}

it('every cloud without controller support has its example here', () => {
  const without = [...providerIdCodecs.keys()].filter((cloud) => !cloudModules.has(cloud)).sort();
  assert.deepEqual(examples.map(({ instance }) => instance.cloud).sort(), without);
});

it('the report API accepts the report of every such cloud', () => {
  const readReport = createReportReader();
  for (const { instance } of examples) {
    const report = {
      version: reportVersion,
      agentVersion: '0.0.0',
      agentId: '0123456789abcdef0123456789abcdef',
      sequence: 1,
      observedAt: '2026-01-01T00:00:00Z',
      instance,
      metadata: { ok: true, ageSeconds: 0, failures: 0 },
    };
    assert.equal(readReport(report).fault, undefined, instance.cloud);
  }
});

for (const { instance, forms, other } of examples) {
  describe(`${instance.cloud}, which has no controller support`, () => {
    let world: World;
    let replica: Replica;

    async function setUp(): Promise<void> {
      const [opened] = await openByName(instance.cloud);
      assert.equal(opened?.api, undefined);
      world = createWorld({ clouds: [{ opened: opened! }] });
      replica = world.replica();
      await replica.start();
    }
    afterEach(() => world.close());

    const reason = (name: string) => world.cluster.condition(name, conditions.cloudInitialized)?.reason;
    const tainted = (name: string) => world.cluster.hasTaint(name, taints.uninitialized);

    async function explain(name: string) {
      const facts = await readNodeFacts(replica.kube, name, {
        nowMs: world.clock.now(),
        namespace: names.namespace,
        leaseNamespace: names.namespace,
        leaseName: names.lease,
      });
      return explainNode(facts);
    }

    it('initialises a Node from a proved report, and says that the controller will never delete it', async () => {
      await setUp();
      world.cluster.register('a');
      await world.clock.advance(5000);
      assert.equal(reason('a'), 'AwaitingReport');
      assert.match((await explain('a')).why, new RegExp(`no API of ${instance.cloud} is configured`));
      replica.report('a', { instance });
      await world.clock.advance(2000);
      assert.equal(tainted('a'), false);
      const node = world.cluster.mustNode('a');
      assert.equal(node.spec.providerID, instance.providerID);
      assert.equal(node.metadata.labels?.[labels.zone], 'z-1');
      assert.equal(node.metadata.labels?.[labels.region], 'r-1');
      assert.equal(node.metadata.labels?.[labels.instanceType], 'large');
      assert.deepEqual(
        node.status.addresses?.filter(({ type }) => type === 'InternalIP'),
        addresses,
      );
      assert.equal(node.metadata.annotations?.[annotations.instance], `report:${instance.cloud} first`);
      const { state, facts } = await explain('a');
      assert.equal(state, 'initialized');
      assert.match(facts['deletedWithVm']?.text ?? '', new RegExp(`^never: ${instance.cloud} is report-only here`));
    });

    it('never deletes, taints or marks a dead Node, not even after a graceful shutdown of its agent', async () => {
      await setUp();
      world.cluster.register('a');
      const kubelet = world.cluster.kubelet('a');
      replica.report('a', { instance });
      await world.clock.advance(400_000);
      assert.equal(tainted('a'), false);
      replica.report('a', { instance, leaving: true, notices: [{ kind: 'termination' }] });
      await world.clock.advance(10_000);
      kubelet.die();
      replica.kube.forgetCalls();
      await world.clock.advance(3_600_000);
      assert.notEqual(world.cluster.node('a'), undefined);
      assert.deepEqual(
        replica.kube.calls.filter(({ verb }) => verb === 'delete'),
        [],
      );
      assert.equal(world.cluster.hasTaint('a', taints.shutdown), false);
      assert.equal(world.cluster.hasTaint('a', taints.outOfService), false);
    });

    it('removes an address only after two reports without it', async () => {
      const ips = () => world.cluster.mustNode('a').status.addresses?.map(({ address }) => address) ?? [];
      const second = { type: 'InternalIP' as const, address: '10.0.0.8' };
      for (const left of [addresses, [{ type: 'Hostname' as const, address: 'a' }]]) {
        await setUp();
        world.cluster.register('a');
        replica.report('a', { instance: { ...instance, addresses: [...addresses, second] } });
        await world.clock.advance(5000);
        replica.report('a', { instance: { ...instance, addresses: left } });
        await world.clock.advance(30_000);
        assert.ok(ips().includes(second.address), 'one report');
        const metadata = { ok: false, ageSeconds: 30, failures: 3 };
        replica.report('a', { instance: { ...instance, addresses: left }, metadata });
        await world.clock.advance(30_000);
        assert.ok(ips().includes(second.address), 'one report, sent again');
        replica.report('a', { instance: { ...instance, addresses: left } });
        await world.clock.advance(15_000);
        assert.ok(!ips().includes(second.address), 'two reports');
        await world.close();
      }
    });

    it("recognises and keeps every form of its kubelet's providerID", async () => {
      for (const form of [instance.providerID, ...forms]) {
        await setUp();
        world.cluster.register('a', { providerID: form });
        replica.report('a', { instance });
        await world.clock.advance(5000);
        assert.equal(
          tainted('a'),
          false,
          `${form}: ${world.cluster.condition('a', conditions.cloudInitialized)?.message}`,
        );
        assert.equal(world.cluster.mustNode('a').spec.providerID, form);
        await world.close();
      }
    });

    it('gives the instance to one Node alone, in whichever form a second one names it', async () => {
      for (const form of [instance.providerID, ...forms]) {
        await setUp();
        world.cluster.register('a', { ready: 'True' });
        replica.report('a', { instance });
        await world.clock.advance(5000);
        assert.equal(tainted('a'), false);
        const id = providerIdCodecs.get(instance.cloud)?.parse(form)?.instanceId ?? '';
        world.cluster.register('twin', { ready: 'True' });
        replica.report('twin', { instance: { ...instance, id, providerID: form } });
        await world.clock.advance(5000);
        assert.equal(tainted('twin'), true, form);
        assert.equal(reason('twin'), 'IdentityConflict');
        await world.close();
      }
    });

    it('keeps the taint of a Node whose agent reports another instance', async () => {
      await setUp();
      world.cluster.register('a', { providerID: other });
      replica.report('a', { instance });
      await world.clock.advance(5000);
      assert.equal(tainted('a'), true);
      assert.equal(reason('a'), 'IdentityConflict');
    });
  });
}

describe('all report-only clouds in one cluster', () => {
  it('assigns a providerID to one cloud alone, in each of its forms', async () => {
    const clouds = await openByName(...examples.map(({ instance }) => instance.cloud));
    for (const { instance, forms, other } of examples) {
      for (const text of [instance.providerID, ...forms, other]) {
        const accepting = clouds.filter((cloud) => cloud.accepts(text)).map(({ name }) => name);
        assert.deepEqual(accepting, [instance.cloud], text);
      }
    }
  });

  it('accepts no Node of an unknown cloud', async () => {
    const clouds = await openByName(...examples.map(({ instance }) => instance.cloud));
    for (const text of ['kind://docker/kind/n', 'k3s://n', 'aws:///eu-west-3a/i-0aa1', 'i-0aa1', 'n.example.com', '']) {
      assert.ok(!clouds.some((cloud) => cloud.accepts(text)), text);
    }
  });
});
