import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { zoneMaps } from '../../../test/clouds/alibaba/alibaba-world.ts';
import {
  type Ask,
  type BalancerHarness,
  createBalancerHarness,
  makeAsClassic,
} from '../../../test/clouds/alibaba/balancer-harness.ts';
import { port } from '../../../test/clouds/suite/desired.ts';
import type { DesiredMember } from '../load-balancers.ts';
import { backendAnnotation, networkClass, prefix } from './annotations.ts';

type Pod = ReturnType<BalancerHarness['world']['fake']['addPod']>;

const memberOf = (
  { address, interfaceId }: Pod,
  ports: Record<string, number> = { 'TCP/80': 8080 },
): DesiredMember => ({
  node: address,
  providerID: `${interfaceId}/${address}`,
  addresses: [address],
  zone: '',
  draining: false,
  ports,
});
const web = port(80, 30_080, { targetPort: '8080' });
const types: Readonly<Record<string, Ask>> = {
  'Classic Load Balancer': {},
  'Network Load Balancer': { loadBalancerClass: networkClass, annotations: { 'zone-maps': zoneMaps } },
};

function asking(type: Ask, pods: readonly DesiredMember[], more: Ask = {}): Ask {
  return { ...type, ports: [web], ...more, members: pods, ofPods: true };
}

/** Names of all groups, with their servers. */
function groupsOf({ world: { fake } }: BalancerHarness) {
  const classic = [...fake.balancers.values()].flatMap(({ groups }) => [...groups.values()]);
  const network = [...fake.networkGroups.values()].map(({ wire, servers }) => {
    return { name: String(wire['ServerGroupName']), servers };
  });
  return [...classic, ...network].map(({ name, servers }) => ({
    name: name.split(/[/.]/)[1],
    servers: servers.map((one) => {
      const type = String(one['Type'] ?? one['ServerType']).toLowerCase();
      return `${type} ${type === 'eni' ? `${one['ServerId']} ${one['ServerIp']}` : one['ServerId']}:${one['Port']}`;
    }),
  }));
}

function idsOf({ world: { fake } }: BalancerHarness): string[] {
  return [...fake.balancers.keys(), ...fake.networks.keys()];
}

for (const [name, type] of Object.entries(types))
  describe(`a ${name} whose members are pods`, () => {
    it('follows its pods, several of which may be on one network interface', async () => {
      const harness = await createBalancerHarness();
      const { fake } = harness.world;
      const first = fake.addPod();
      const [second, third] = [fake.addPod(first.interfaceId), fake.addPod()];
      const print = (pods: readonly Pod[]) => [
        { name: '8080', servers: pods.map(({ interfaceId, address }) => `eni ${interfaceId} ${address}:8080`) },
      ];
      await harness.settle(asking(type, [memberOf(first)]));
      assert.deepEqual(groupsOf(harness), print([first]));
      harness.changes();
      await harness.settle(
        asking(
          type,
          [first, second, third].map((pod) => memberOf(pod)),
        ),
      );
      assert.deepEqual(groupsOf(harness), print([first, second, third]));
      assert.equal(harness.changes().length, 1);
      await harness.settle(asking(type, [memberOf(third)]));
      assert.deepEqual(groupsOf(harness), print([third]));
      assert.equal(harness.changes().length, 1);
      await harness.restart();
      await harness.settle(asking(type, [memberOf(third)]));
      assert.deepEqual(harness.changes(), []);
      await harness.settle(asking(type, []));
      assert.deepEqual(groupsOf(harness), print([]));
      await harness.remove(asking(type, []));
      assert.deepEqual([idsOf(harness), groupsOf(harness)], [[], []]);
      await harness.world.close();
    });

    it('keeps the servers of pods whose interface or port is not known, and adds none for them', async () => {
      const harness = await createBalancerHarness();
      const { fake } = harness.world;
      const [first, second, third] = [fake.addPod(), fake.addPod(), fake.addPod()];
      const all = [first, second].map((one) => memberOf(one));
      await harness.settle(asking(type, all));
      const before = groupsOf(harness);
      harness.changes();
      const unknown = { ...memberOf(first), providerID: '' };
      await harness.settle(asking(type, [unknown, memberOf(second, {}), { ...memberOf(third), providerID: '' }]));
      assert.deepEqual([groupsOf(harness), harness.changes()], [before, []]);
      await harness.world.close();
    });

    it('replaces a server whose address another network interface has now', async () => {
      const harness = await createBalancerHarness();
      const { fake } = harness.world;
      const pod = fake.addPod();
      await harness.settle(asking(type, [memberOf(pod)]));
      const other = { ...pod, interfaceId: fake.nextId('eni') };
      fake.podAddresses.set(pod.address, other.interfaceId);
      await harness.settle(asking(type, [memberOf(other)]));
      assert.deepEqual(groupsOf(harness)[0]?.servers, [`eni ${other.interfaceId} ${pod.address}:8080`]);
      await harness.world.close();
    });

    it('keeps the load balancer when Nodes become its members, and pods again', async () => {
      const harness = await createBalancerHarness();
      const { fake } = harness.world;
      const nodes: Ask = { ...type, ports: [web] };
      const pods = asking(type, [memberOf(fake.addPod())]);
      await harness.settle(nodes);
      const ids = idsOf(harness);
      for (const [ask, group, kind] of [
        [pods, '8080', 'eni'],
        [nodes, '30080', 'ecs'],
        [pods, '8080', 'eni'],
      ] as const) {
        await harness.settle(ask);
        assert.deepEqual(idsOf(harness), ids);
        assert.deepEqual(
          groupsOf(harness).map((one) => [one.name, one.servers.map((server) => server.slice(0, 3))[0]]),
          [[group, kind]],
        );
        harness.changes();
        await harness.settle(ask);
        assert.deepEqual(harness.changes(), []);
      }
      await harness.world.close();
    });

    it('keeps the servers of a port that EndpointSlices do not know yet, of pods that are still there', async () => {
      const harness = await createBalancerHarness();
      const { fake } = harness.world;
      const [stays, goes] = [fake.addPod(), fake.addPod()];
      await harness.settle(asking(type, [memberOf(stays), memberOf(goes)]));
      await harness.settle(asking(type, [memberOf(stays, {})]));
      assert.deepEqual(groupsOf(harness)[0]?.servers, [`eni ${stays.interfaceId} ${stays.address}:8080`]);
      await harness.world.close();
    });

    it('needs no node port, and has one group for each target port, which may be a name', async () => {
      const harness = await createBalancerHarness();
      const pod = harness.world.fake.addPod();
      const ports = [
        port(80, 0, { targetPort: 'http' }),
        port(81, 0, { targetPort: 'http' }),
        port(53, 0, { targetPort: 'dns' }),
        port(53, 0, { targetPort: 'dns', protocol: 'UDP' }),
      ];
      const targets = { 'TCP/80': 8080, 'TCP/81': 8080, 'TCP/53': 5353, 'UDP/53': 5354 };
      const { refusals } = await harness.settle(asking(type, [memberOf(pod, targets)], { ports }));
      assert.deepEqual(refusals, []);
      const shown = groupsOf(harness).map((one) => `${one.name} ${one.servers.map((each) => each.split(':')[1])}`);
      assert.deepEqual(shown.toSorted(), ['dns 5353', 'dns-udp 5354', 'http 8080']);
      await harness.world.close();
    });

    it('names a pod that the cloud does not take, as one that can be left out', async () => {
      const harness = await createBalancerHarness();
      const { fake } = harness.world;
      const [good, ghost] = [fake.addPod(), { address: '172.20.9.9', interfaceId: 'eni-bp1never' }];
      const members = [memberOf(good), memberOf(ghost)];
      await assert.rejects(harness.settle(asking(type, members)), {
        kind: 'Invalid',
        subjects: ['eni-bp1never/172.20.9.9'],
      });
      await harness.settle(asking(type, members.slice(0, 1)));
      assert.equal(groupsOf(harness)[0]?.servers.length, 1);
      await harness.world.close();
    });
  });

describe('health checks of pods', () => {
  it('ask the port of each pod, where no annotation says otherwise, and kube-proxy again of Nodes', async () => {
    const harness = await createBalancerHarness();
    const members = [memberOf(harness.world.fake.addPod())];
    const check = (names: readonly string[]) => {
      const [one] = harness.balancer().listeners.values();
      return names.map((name) => one?.wire[name]);
    };
    const ofTcp = ['HealthCheckType', 'HealthCheckConnectPort'];
    await harness.settle({ ports: [web] });
    assert.deepEqual(check(ofTcp), ['http', 10_256]);
    await harness.settle(asking({}, members, { trafficPolicy: 'Local', healthCheck: { port: 31_000, path: '/' } }));
    assert.deepEqual(check(ofTcp), ['tcp', -520]);
    const chosen = { 'health-check-type': 'http', 'health-check-uri': '/ready' };
    await harness.settle(asking({ annotations: chosen }, members));
    assert.deepEqual(check([...ofTcp, 'HealthCheckURI']), ['http', -520, '/ready']);
    await harness.settle({ ports: [web] });
    assert.deepEqual(check([...ofTcp, 'HealthCheckURI']), ['http', 10_256, '/healthz']);
    // Pods and the kind of check are chosen at once.
    await harness.settle(asking({ annotations: chosen }, members));
    assert.deepEqual(check([...ofTcp, 'HealthCheckURI']), ['http', -520, '/ready']);
    await harness.settle({ ports: [web] });
    const http = { annotations: { 'protocol-port': 'http:80' } };
    await harness.settle({ ...http, ports: [web] });
    assert.deepEqual(check(['HealthCheck', 'HealthCheckConnectPort']), ['on', 10_256]);
    await harness.settle(asking(http, members));
    assert.deepEqual(check(['HealthCheck']), ['off']);
    await harness.world.close();
  });

  it('checks the port of each pod by its protocol, behind a Network Load Balancer', async () => {
    const harness = await createBalancerHarness();
    const dns = port(53, 0, { targetPort: '5353', protocol: 'UDP' });
    const pod = memberOf(harness.world.fake.addPod(), { 'TCP/80': 8080, 'UDP/53': 5353 });
    await harness.settle(asking(types['Network Load Balancer']!, [pod], { ports: [web, dns] }));
    const checks = [...harness.world.fake.networkGroups.values()].map(({ wire }) => wire['HealthCheck']);
    assert.deepEqual(
      checks,
      ['TCP', 'UDP'].map((HealthCheckType) => ({
        HealthCheckEnabled: true,
        HealthCheckType,
        HealthCheckConnectPort: 0,
      })),
    );
    await harness.world.close();
  });
});

describe('pods that the classic controller made members', () => {
  const addresses = ['121.40.7.7'];

  it('takes over pods without a change, with groups named by their target ports', async () => {
    const harness = await createBalancerHarness();
    const { fake } = harness.world;
    const one = makeAsClassic(harness, [[80, 30_080]]);
    const [group] = one.groups.values();
    const pod = fake.addPod();
    const name = 'k8s/http/web/shop/clusterid';
    const server = { ServerId: pod.interfaceId, Type: 'eni', ServerIp: pod.address, Port: 8080, Weight: 100 };
    Object.assign(group!, { name, servers: [{ ...server, Description: name }] });
    const ports = [port(80, 30_080, { targetPort: 'http' })];
    const { seen, steps } = await harness.adopt({ addresses }, asking({}, [memberOf(pod)], { ports }));
    assert.equal(seen?.id, one.id);
    assert.deepEqual([steps, harness.changes()], [[], []]);
    await harness.world.close();
  });

  it('takes over pods of a Network Load Balancer without a change', async () => {
    const harness = await createBalancerHarness();
    const { fake } = harness.world;
    const type = types['Network Load Balancer']!;
    const ask = asking(type, [memberOf(fake.addPod())]);
    await harness.settle(ask);
    const [one] = fake.networks.values();
    for (const { tags } of [one!, ...fake.networkGroups.values()])
      for (const key of tags.keys()) if (key.startsWith('mooring.dev/')) tags.delete(key);
    await harness.restart();
    harness.changes();
    const { seen } = await harness.adopt({ addresses: [String(one!.wire['DNSName'])] }, ask);
    assert.equal(seen?.id, one!.id);
    assert.deepEqual(harness.changes(), []);
    assert.equal(fake.networkGroups.values().next().value?.wire['ServerGroupName'], 'k8s.8080.TCP.web.shop.clusterid');
    await harness.world.close();
  });
});

describe('whether pods are members', () => {
  const table: readonly [config: string | undefined, annotations: Record<string, string>, takesPods: boolean][] = [
    [undefined, {}, false],
    ['eni', {}, true],
    ['eni', { [backendAnnotation]: 'ecs' }, false],
    ['ecs', { [backendAnnotation]: 'eni' }, true],
    [undefined, { [`${prefix}backend-type`]: 'eni' }, true],
    [undefined, { [`${prefix}backend-type`]: 'ecs', [backendAnnotation]: 'eni' }, true],
    ['ecs', { [backendAnnotation]: 'pods' }, false],
  ];
  for (const [config, annotations, expected] of table)
    it(`takes ${expected ? 'pods' : 'Nodes'} by ${JSON.stringify(annotations)} and config ${config}`, async () => {
      const harness = await createBalancerHarness(config === undefined ? {} : { SERVICE_BACKEND_TYPE: config });
      const { loadBalancers } = await harness.world.open();
      assert.equal(loadBalancers?.takesPods?.(annotations), expected);
      await harness.world.close();
    });

  it('refuses a backend type that cannot be read', async () => {
    const harness = await createBalancerHarness();
    const desired = { ...harness.desired(), annotations: { [backendAnnotation]: 'pods' } };
    const { loadBalancers } = await harness.world.open();
    const { refusals } = loadBalancers!.plan(desired);
    assert.match(refusals[0]?.message ?? '', /kubernetes.io\/backend-type: "pods", expected ecs or eni/);
    await harness.world.close();
  });
});

describe('the lookup of pods', () => {
  it('asks for a hundred addresses a call, and leaves out what no network interface of the VPC has', async () => {
    const harness = await createBalancerHarness();
    const { fake, during } = harness.world;
    const pods = Array.from({ length: 150 }, () => fake.addPod());
    const { loadBalancers } = await harness.world.open();
    fake.calls.splice(0);
    const asked = [...pods.map(({ address }) => address), '10.244.0.7'];
    const found = await during(loadBalancers!.podIds!(asked));
    assert.deepEqual(new Map(found), new Map(pods.map((one) => [one.address, `${one.interfaceId}/${one.address}`])));
    assert.deepEqual(fake.calls, ['DescribeNetworkInterfaces', 'DescribeNetworkInterfaces']);
    await harness.world.close();
  });

  it('fails where the policy does not allow it', async () => {
    const harness = await createBalancerHarness();
    const { fake, during } = harness.world;
    const refusal = { status: 403, body: { Code: 'Forbidden.RAM', Message: 'no' } };
    fake.fault = (action) => (action === 'DescribeNetworkInterfaces' ? refusal : undefined);
    const { loadBalancers, check } = await harness.world.open();
    await assert.rejects(during(loadBalancers!.podIds!(['10.0.0.1'])), { kind: 'Forbidden' });
    const shown = (await during(check())).find(({ name }) => name === 'network interfaces');
    assert.equal(shown?.ok, null);
    assert.match(shown.message, /only Services whose members are pods need it/);
    await harness.world.close();
  });
});
