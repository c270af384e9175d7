import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { clusterIdOf } from '../../../controller/clouds/gce/load-balancers/names.ts';
import type { DesiredLoadBalancer } from '../../../controller/clouds/load-balancers.ts';
import { desiredFor, newOwner, port } from '../suite/desired.ts';
import { Crash, ensure, printStep, remove } from '../suite/drive.ts';
import { type Example, withExample } from '../suite/suite-context.ts';
import { type Mode, modes } from './balancing-behind.ts';
import { refusal } from './fake/fake-api.ts';
import type { FakeGce } from './fake/fake-gce.ts';
import { fakeGceWorld } from './gce-world.ts';

const allModes = ['target pools', 'internal load balancers', 'backend services'] as const satisfies Mode[];

/** A Service that is served, and the fake behind it. */
async function withServed(
  mode: Mode,
  body: (example: Example, fake: FakeGce) => Promise<void>,
  { conf = '', ...fields }: Partial<DesiredLoadBalancer> & { readonly conf?: string } = {},
): Promise<void> {
  const world = fakeGceWorld(mode, conf);
  await withExample(world, (example) => body(example, world.fake), fields);
  await world.close();
}

const changesOf = (fake: FakeGce) =>
  fake.calls.flatMap(({ method, path }) =>
    method === 'GET' || /(token|wait|listInstances)$/.test(path) ? [] : `${method} ${path.split('/').at(-2)}`,
  );
const rules = (fake: FakeGce) =>
  [...fake.balancing.resources].flatMap(([path, wire]) => (path.includes('/forwardingRules/') ? [wire] : []));

describe('load balancers of Compute Engine', () => {
  for (const mode of allModes) {
    it(`reserves the address before a forwarding rule goes, and releases it afterwards (${mode})`, () =>
      withServed(mode, async (example, fake) => {
        const first = await ensure(await example.driving());
        fake.calls.length = 0;
        example.desired = { ...example.desired, ports: [port(81, 30_081)] };
        const { observed } = await ensure(await example.driving());
        assert.deepEqual(observed?.ingress, first.observed?.ingress);
        const front = changesOf(fake).filter((call) => !call.endsWith('firewalls'));
        const [reserved, ...rest] = front;
        assert.match(reserved!, /^POST (regions|us-central1)/);
        assert.deepEqual(rest.slice(0, 1), ['DELETE forwardingRules']);
        assert.deepEqual(front.at(-1), 'DELETE addresses');
      }));

    it(`keeps a forwarding rule whose address cannot be reserved (${mode})`, () =>
      withServed(mode, async (example, fake) => {
        await ensure(await example.driving());
        const [before] = rules(fake);
        fake.balancing.quotas.set('addresses', 0);
        const desired = { ...example.desired, ports: [port(81, 30_081)] };
        await assert.rejects(ensure(await example.driving({ desired })), { kind: 'QuotaExceeded' });
        assert.deepEqual(rules(fake), [before]);
        fake.balancing.quotas.clear();
      }));

    it(`keeps a forwarding rule whose address would change until there is consent (${mode})`, () =>
      withServed(mode, async (example, fake) => {
        await ensure(await example.driving());
        const before = rules(fake);
        const address = mode === 'internal load balancers' ? '10.128.250.7' : '192.0.2.7';
        const desired = { ...example.desired, address };
        const { refusals, calls } = await ensure(await example.driving({ desired }));
        assert.deepEqual([refusals.map(({ reason }) => reason), calls], [['AddressWouldChange'], 0]);
        const other = mode === 'internal load balancers' ? {} : modes['internal load balancers'].annotations;
        const annotations = { 'networking.gke.io/load-balancer-type': 'External', ...other };
        const members = example.desired.members.slice(1);
        const moved = { ...example.desired, annotations, members };
        const driven = await ensure(await example.driving({ desired: moved }));
        // The members follow all the same.
        assert.deepEqual([driven.refusals.map(({ reason }) => reason), driven.calls], [['AddressWouldChange'], 1]);
        assert.deepEqual(rules(fake), before);
        const consented = await ensure(await example.driving({ desired: { ...moved, mayChangeAddress: true } }));
        assert.deepEqual(consented.refusals, []);
        const scheme = mode === 'internal load balancers' ? 'EXTERNAL' : 'INTERNAL';
        assert.deepEqual(
          rules(fake).map(({ loadBalancingScheme }) => loadBalancingScheme),
          [scheme],
        );
        assert.equal(consented.observed?.ingress[0]?.ip, rules(fake)[0]?.['IPAddress']);
      }));

    it(`uses a reserved address by its name, and leaves it (${mode})`, () =>
      withServed(mode, async (example, fake) => {
        const isInternal = mode === 'internal load balancers';
        const address = isInternal ? '10.128.250.8' : '192.0.2.8';
        const addressType = isInternal ? 'INTERNAL' : 'EXTERNAL';
        fake.balancing.put('regions/us-central1/addresses/mine', { address, addressType });
        const annotations = { 'networking.gke.io/load-balancer-ip-addresses': 'mine' };
        example.desired = { ...example.desired, annotations };
        const { observed } = await ensure(await example.driving());
        assert.deepEqual(observed?.ingress, [{ ip: address }]);
        example.desired = { ...example.desired, ports: [port(82, 30_082)] };
        assert.deepEqual((await ensure(await example.driving())).observed?.ingress, [{ ip: address }]);
        await remove(await example.driving());
        assert.deepEqual([...fake.balancing.resources.keys()], ['regions/us-central1/addresses/mine']);
      }));
  }

  it('says that a reserved address does not exist, and makes no forwarding rule', () =>
    withServed(
      'target pools',
      async (example, fake) => {
        const { refusals } = await ensure(await example.driving());
        assert.match(refusals[0]!.message, /mine does not exist/);
        assert.deepEqual(rules(fake), []);
      },
      { annotations: { 'networking.gke.io/load-balancer-ip-addresses': 'mine' } },
    ));

  for (const [what, fields, expected] of [
    [
      'a shared backend service',
      { annotations: { 'cloud.google.com/load-balancer-backend-share': 'true' } },
      /share: "true", expected false/,
    ],
    [
      'another type',
      { annotations: { 'networking.gke.io/load-balancer-type': 'Between' } },
      /type: "Between", expected Internal or External/,
    ],
    [
      'another tier',
      { annotations: { 'cloud.google.com/network-tier': 'Best' } },
      /tier: "Best", expected Premium or Standard/,
    ],
    [
      'a subnet of an external one',
      { annotations: { 'networking.gke.io/internal-load-balancer-subnet': 'a' } },
      /only on an internal load balancer/,
    ],
    ['IPv6 alone', { families: ['IPv6'] }, /spec.ipFamilies: IPv6, expected IPv4/],
    ['a load balancer of others', { attach: { id: '5', allowed: true } }, /load-balancer-id: "5", expected none/],
    ['SCTP', { ports: [port(9, 30_009, { protocol: 'SCTP' })] }, /SCTP 9, expected TCP or UDP/],
  ] as const)
    it(`refuses ${what} by name, makes nothing and changes nothing`, () =>
      withServed('target pools', async (example, fake) => {
        const desired = { ...example.desired, ...fields } as DesiredLoadBalancer;
        const refused = await ensure(await example.driving({ desired }));
        assert.match(refused.refusals[0]!.message, expected);
        assert.deepEqual([refused.refusals[0]!.reason, fake.balancing.resources.size], ['Unsupported', 0]);
        await ensure(await example.driving());
        const before = [...fake.balancing.resources];
        assert.deepEqual((await ensure(await example.driving({ desired }))).calls, 0);
        assert.deepEqual([...fake.balancing.resources], before);
      }));

  for (const [mode, ports] of [
    ['target pools', { ports: ['80', '443'], portRange: undefined }],
    ['backend services', { ports: undefined, portRange: '80-443' }],
  ] as const)
    it(`keeps a forwarding rule that has its ports in the other form (${mode})`, () =>
      withServed(
        mode,
        async (example, fake) => {
          await ensure(await example.driving());
          for (const [path, wire] of fake.balancing.resources)
            if (path.includes('/forwardingRules/')) fake.balancing.resources.set(path, { ...wire, ...ports });
          const { calls } = await ensure(await example.driving({ balancers: await example.fresh() }));
          assert.equal(calls, 0);
        },
        { ports: [port(80, 30_080), port(443, 30_443)] },
      ));

  it('serves the ports of one protocol from a target pool, and names the others', () =>
    withServed(
      'target pools',
      async (example, fake) => {
        const { refusals } = await ensure(await example.driving());
        assert.deepEqual(refusals[0]?.ports, [{ port: 53, protocol: 'UDP' }]);
        assert.deepEqual([rules(fake)[0]?.['IPProtocol'], rules(fake)[0]?.['portRange']], ['TCP', '80-80']);
      },
      { ports: [port(80, 30_080), port(53, 30_053, { protocol: 'UDP' })] },
    ));

  it('makes no firewall rules in a Shared VPC, and says what to let in', () =>
    withServed(
      'internal load balancers',
      async (example, fake) => {
        const balancers = await example.fresh();
        await example.world.during(balancers.observeAll(example.world.cluster));
        const { remarks } = balancers.plan(example.desired);
        assert.match(remarks!.join(), /let in tcp:80 .* from 130\.211\.0\.0\/22/);
        await ensure(await example.driving());
        assert.ok(![...fake.balancing.resources.keys()].some((path) => path.includes('firewalls')));
        assert.match(String(rules(fake)[0]?.['network']), /projects\/host\/global\/networks\/default$/);
      },
      { conf: 'network-project-id = host' },
    ));

  it('writes a backend service again that a person has changed meanwhile', () =>
    withServed('internal load balancers', async (example, fake) => {
      await ensure(await example.driving());
      const [path, service] = [...fake.balancing.resources].find(([one]) => one.includes('/backendServices/'))!;
      const driving = await example.driving({
        desired: { ...example.desired, sessionAffinity: { timeoutSeconds: 10 } },
      });
      const changed = { ...service, fingerprint: 'b3RoZXI=', sessionAffinity: 'CLIENT_IP_PROTO' };
      let isFirst = true;
      const permit = () => {
        if (isFirst) fake.balancing.resources.set(path, changed);
        isFirst = false;
      };
      const { steps } = await ensure({ ...driving, permit });
      assert.deepEqual(steps.map(printStep).length > 0, true);
      assert.equal(fake.balancing.resources.get(path)?.['sessionAffinity'], 'CLIENT_IP');
    }));

  it('shares the instance groups: one call adds a node for all Services, and the last one deletes them', () =>
    withServed('internal load balancers', async (example, fake) => {
      const second = desiredFor(newOwner(example.world.cluster), example.vms, { ports: [port(90, 30_090)] });
      await ensure(await example.driving());
      await ensure(await example.driving({ desired: second, record: { id: undefined } }));
      const groups = () => [...fake.balancing.resources.keys()].filter((path) => path.includes('/instanceGroups/'));
      assert.equal(groups().length, 2);
      const more = await example.world.createVm();
      const members = desiredFor(second.owner, [...example.vms, more]).members;
      const balancers = await example.fresh();
      const calls = [];
      for (const desired of [
        { ...example.desired, members },
        { ...second, members },
      ])
        calls.push((await ensure({ world: example.world, balancers, desired, record: { id: undefined } })).calls);
      assert.deepEqual(calls, [1, 0]);
      await remove(await example.driving({ desired: second, record: { id: undefined } }));
      assert.equal(groups().length, 2);
      await remove(await example.driving());
      assert.deepEqual([...fake.balancing.resources.keys()], []);
    }));

  it('waits where the rate limit is exceeded, and fails where the quota is', () =>
    withServed('target pools', async (example, fake) => {
      let left = 2;
      fake.fault = ({ method, path }) => {
        if (method !== 'POST' || !path.endsWith('/targetPools') || left === 0) return undefined;
        left -= 1;
        return refusal(403, 'rateLimitExceeded', 'Rate Limit Exceeded');
      };
      assert.deepEqual((await ensure(await example.driving())).refusals, []);
      await remove(await example.driving());
      fake.fault = undefined;
      fake.balancing.quotas.set('targetPools', 0);
      await assert.rejects(ensure(await example.driving()), { kind: 'QuotaExceeded' });
      fake.balancing.quotas.clear();
    }));

  it('keeps the address with a target pool of another session affinity', () =>
    withServed('target pools', async (example, fake) => {
      const first = await ensure(await example.driving());
      example.desired = { ...example.desired, sessionAffinity: { timeoutSeconds: 10_800 } };
      const { observed } = await ensure(await example.driving());
      assert.deepEqual(observed?.ingress, first.observed?.ingress);
      const pool = [...fake.balancing.resources].find(([path]) => path.includes('/targetPools/'))?.[1];
      assert.equal(pool?.['sessionAffinity'], 'CLIENT_IP');
    }));

  it('deletes a load balancer although its instance group serves an Ingress, too', () =>
    withServed('internal load balancers', async (example, fake) => {
      await ensure(await example.driving());
      const group = [...fake.balancing.resources.keys()].find((path) => path.includes('/instanceGroups/'))!;
      fake.balancing.put('global/backendServices/k8s-be-30080--1', { backends: [{ group }] });
      await remove(await example.driving());
      assert.deepEqual(
        [...fake.balancing.resources.keys()].filter((path) => !path.includes('k8s-be')),
        [group],
      );
    }));

  for (const isUsed of [true, false])
    it(`leaves an instance group alone that an Ingress made and ${isUsed ? 'uses' : 'does not use yet'}`, () =>
      withServed('target pools', async (example, fake) => {
        const group = `zones/us-central1-a/instanceGroups/k8s-ig--${clusterIdOf(example.world.cluster, undefined)}`;
        fake.balancing.put(group, { zone: 'zones/us-central1-a' });
        fake.balancing.members.get(group)!.add('zones/us-central1-a/instances/of-ingress');
        const backend = 'global/backendServices/k8s-be-30080--1';
        if (isUsed) fake.balancing.put(backend, { backends: [{ group }] });
        await ensure(await example.driving());
        example.desired = { ...example.desired, members: example.desired.members.slice(1) };
        await ensure(await example.driving());
        await remove(await example.driving());
        assert.ok(!changesOf(fake).some((call) => call.endsWith('instanceGroups')));
        assert.deepEqual([...fake.balancing.resources.keys()], isUsed ? [group, backend] : [group]);
      }));

  it('deletes with the last Service what all share and the classic controller has made', () =>
    withServed('internal load balancers', async (example, fake) => {
      await ensure(await example.driving());
      for (const [path, wire] of fake.balancing.resources)
        if (/instanceGroups|-node(-hc)?$/.test(path)) fake.balancing.resources.set(path, { ...wire, description: '' });
      await remove(await example.driving());
      assert.deepEqual([...fake.balancing.resources.keys()], []);
    }));
  for (const [loadBalancerClass, scheme, target] of [
    ['networking.gke.io/l4-regional-external', 'EXTERNAL', 'backendServices'],
    ['networking.gke.io/l4-regional-external-legacy', 'EXTERNAL', 'targetPools'],
    ['networking.gke.io/l4-regional-internal', 'INTERNAL', 'backendServices'],
    ['networking.gke.io/l4-regional-internal-legacy', 'INTERNAL', 'backendServices'],
    ['example.com/other', 'INTERNAL', 'backendServices'],
  ] as const)
    it(`creates the type that the class ${loadBalancerClass} names, whatever annotations say`, () =>
      withServed(
        'target pools',
        async (example, fake) => {
          assert.deepEqual((await ensure(await example.driving())).refusals, []);
          const [rule] = rules(fake);
          assert.equal(rule?.['loadBalancingScheme'], scheme);
          assert.ok(String(rule['target'] ?? rule['backendService']).includes(`/${target}/`));
        },
        {
          loadBalancerClass,
          annotations: {
            'networking.gke.io/load-balancer-type': scheme === 'INTERNAL' ? 'Internal' : 'External',
            'cloud.google.com/l4-rbs': 'enabled',
          },
        },
      ));

  for (const [from, to] of [
    ['target pools', 'backend services'],
    ['backend services', 'target pools'],
  ] as const)
    for (const at of ['before', 'after'] as const)
      it(`keeps the address on the way from ${from} to ${to}, with a crash ${at} any call`, () =>
        withServed('target pools', async (example, fake) => {
          const [before, then] = [from, to].map((mode) => ({ ...example.desired, ...modes[mode] }));
          for (let call = 1, isStruck = true; isStruck; call += 1) {
            const first = await ensure(await example.driving({ desired: before! }));
            isStruck = false;
            const moving = { ...(await example.driving({ desired: then! })), crash: { at, call } };
            await ensure(moving).catch((error: unknown) => {
              if (!(error instanceof Crash)) throw error;
              isStruck = true;
            });
            const { observed } = await ensure(await example.driving({ desired: then! }));
            assert.deepEqual(observed?.ingress, first.observed?.ingress, `call ${call}`);
            const paths = [...fake.balancing.resources.keys()].join();
            assert.ok(!paths.includes('/addresses/'), paths);
            assert.equal(/targetPools/.test(paths), to === 'target pools');
            assert.equal(/backendServices|instanceGroups/.test(paths), to === 'backend services');
          }
        }));

  it('uses an address that is held, although the type has changed since, and changes it with consent', () =>
    withServed('internal load balancers', async (example, fake) => {
      const first = await ensure(await example.driving());
      const changed = { ...example.desired, ports: [port(81, 30_081)] };
      const isMade = ({ method, path }: { method: string; path: string }) =>
        method === 'POST' && path.endsWith('/forwardingRules');
      fake.fault = (request) => (isMade(request) ? refusal(403, 'forbidden', 'No') : undefined);
      await assert.rejects(ensure(await example.driving({ desired: changed })), { kind: 'Forbidden' });
      assert.deepEqual(rules(fake), []);
      fake.fault = undefined;
      const annotations = { 'networking.gke.io/load-balancer-type': 'External' };
      const external = { ...changed, annotations };
      const { observed, refusals } = await ensure(await example.driving({ desired: external }));
      assert.deepEqual([observed?.ingress, refusals[0]?.reason], [first.observed?.ingress, 'AddressWouldChange']);
      const consented = await ensure(await example.driving({ desired: { ...external, mayChangeAddress: true } }));
      assert.deepEqual([consented.refusals, rules(fake)[0]?.['loadBalancingScheme']], [[], 'EXTERNAL']);
    }));

  it('uses subsetting above 250 members and keeps it, but not with session affinity', () =>
    withServed('internal load balancers', async (example, fake) => {
      const more = Array.from({ length: 249 }, (_, at) => {
        const { name } = fake.addVm(`many-${at}`);
        const [zone, addresses] = ['us-central1-a', ['10.128.9.9']];
        return { name: name!, zone, addresses, providerID: `gce://${fake.project}/${zone}/${name}` };
      });
      const backend = () => [...fake.balancing.resources].find(([path]) => path.includes('/backendServices/'))![1];
      await ensure(await example.driving());
      assert.equal(backend()['subsetting'], undefined);
      const { members } = desiredFor(example.desired.owner, [...example.vms, ...more]);
      const driven = await ensure(await example.driving({ desired: { ...example.desired, members } }));
      assert.deepEqual(backend()['subsetting'], { policy: 'CONSISTENT_HASH_SUBSETTING' });
      assert.equal(driven.observed?.members.length, 251);
      await ensure(await example.driving());
      assert.deepEqual(backend()['subsetting'], { policy: 'CONSISTENT_HASH_SUBSETTING' });
      const desired = { ...example.desired, members, sessionAffinity: { timeoutSeconds: 10 } };
      await ensure(await example.driving({ desired }));
      assert.deepEqual([backend()['subsetting'], backend()['sessionAffinity']], [{ policy: 'NONE' }, 'CLIENT_IP']);
      const balancers = await example.fresh();
      assert.match(balancers.plan(desired).remarks!.join(), /250 of 251 members/);
    }));

  it('names a member that does not exist, and adds the others for all Services', () =>
    withServed('internal load balancers', async (example, fake) => {
      const second = desiredFor(newOwner(example.world.cluster), example.vms, { ports: [port(90, 30_090)] });
      const ghost = { ...example.vms[0]!, name: 'ghost', providerID: example.world.unusedProviderID() };
      const balancers = await example.fresh();
      const driving = { world: example.world, balancers, record: { id: undefined } };
      const { members } = desiredFor(second.owner, [...example.vms, ghost]);
      await assert.rejects(ensure({ ...driving, desired: { ...second, members } }), { subjects: [ghost.providerID] });
      assert.equal([...fake.balancing.members.values()].flatMap((set) => [...set]).length, 2);
      for (const desired of [second, example.desired])
        assert.equal((await ensure({ ...driving, desired })).observed?.members.length, 2);
      await remove({ ...driving, desired: second });
    }));

  it('succeeds when somebody else has just added the same member to the group', () =>
    withServed('internal load balancers', async (example, fake) => {
      await ensure(await example.driving());
      const more = await example.world.createVm();
      const { members } = desiredFor(example.desired.owner, [...example.vms, more]);
      const [, zone, name] = /([^/]+)\/([^/]+)$/.exec(more.providerID)!;
      const group = [...fake.balancing.members].find(([path]) => path.includes(zone!))![1];
      const permit = () => void group.add(`zones/${zone}/instances/${name}`);
      const driving = await example.driving({ desired: { ...example.desired, members } });
      await ensure({ ...driving, permit }).catch(() => undefined);
      assert.equal((await ensure(driving)).observed?.members.length, 3);
    }));

  it('tries once to delete a group that an Ingress uses, and is quiet about it afterwards', () =>
    withServed('target pools', async (example, fake) => {
      const name = `k8s-ig--${clusterIdOf(example.world.cluster, undefined)}`;
      const group = `zones/us-central1-a/instanceGroups/${name}`;
      const description = JSON.stringify({ 'mooring.dev/cluster': example.world.cluster });
      fake.balancing.put(group, { zone: 'zones/us-central1-a', description });
      fake.balancing.put('global/backendServices/k8s-be-30080--1', { backends: [{ group }] });
      const balancers = await example.fresh();
      const driving = { world: example.world, balancers, desired: example.desired, record: example.record };
      for (const number of [80, 81, 82]) {
        await ensure({ ...driving, desired: { ...example.desired, ports: [port(number, 30_080)] } });
        await example.world.during(balancers.observeAll(example.world.cluster));
      }
      await remove(driving);
      const tries = fake.calls.filter(({ method, path }) => method === 'DELETE' && path.endsWith(name));
      assert.ok(tries.length <= 2, `${tries.length} tries`);
      assert.ok(fake.balancing.resources.has(group));
      fake.balancing.resources.delete('global/backendServices/k8s-be-30080--1');
      fake.balancing.resources.delete(group);
    }));

  it('makes no firewall rules where the VM of the controller is in the network of another project', () =>
    withServed(
      'backend services',
      async (example, fake) => {
        const attributes = {
          'instance/network-interfaces/0/network': 'projects/990000000001/networks/shared',
          'project/numeric-project-id': '881234567890',
        };
        for (const [path, value] of Object.entries(attributes)) fake.identity.metadata.set(path, value);
        await ensure(await example.driving());
        assert.ok(![...fake.balancing.resources.keys()].some((path) => path.includes('firewalls')));
        const balancers = await example.fresh();
        await example.world.during(balancers.observeAll(example.world.cluster));
        assert.match(balancers.plan(example.desired).remarks!.join(), /firewall rules of the network's project/);
      },
      { conf: '; network-name: that of the VM' },
    ));

  for (const mode of ['target pools', 'internal load balancers'] as const)
    for (const at of ['before', 'after'] as const)
      it(`deletes parts that have lost their description, too, after a crash ${at} any call (${mode})`, () =>
        withServed(mode, async (example, fake) => {
          for (let call = 1, isStruck = true; isStruck; call += 1) {
            await ensure(await example.driving());
            for (const [path, wire] of fake.balancing.resources)
              if (/instanceGroups|-node(-hc|-http-hc)?$/.test(path))
                fake.balancing.resources.set(path, { ...wire, description: '' });
            isStruck = false;
            await remove({ ...(await example.driving()), crash: { at, call } }).catch((error: unknown) => {
              if (!(error instanceof Crash)) throw error;
              isStruck = true;
            });
            await remove(await example.driving());
            assert.deepEqual([...fake.balancing.resources.keys()], [], `call ${call}`);
          }
        }));

  for (const mode of allModes)
    it(`keeps the address where another load balancer has the one that is asked for (${mode})`, () =>
      withServed(mode, async (example, fake) => {
        const second = desiredFor(newOwner(example.world.cluster), example.vms, {
          annotations: modes[mode].annotations,
        });
        const { observed } = await ensure(await example.driving({ desired: second, record: { id: undefined } }));
        await ensure(await example.driving());
        const before = rules(fake);
        const address = observed!.ingress[0]!.ip!;
        const desired = { ...example.desired, address, mayChangeAddress: true };
        const { refusals } = await ensure(await example.driving({ desired }));
        assert.match(refusals[0]!.message, /is taken|reserved/);
        assert.deepEqual(rules(fake), before);
      }));

  for (const [what, wire, expected] of [
    ['of another type', { addressType: 'INTERNAL', address: '10.128.250.9' }, /10\.128\.250\.9 is INTERNAL/],
    ['of another network tier', { address: '192.0.2.9', networkTier: 'STANDARD' }, /192\.0\.2\.9 is STANDARD/],
  ] as const)
    it(`keeps the address where the reserved one is ${what}, and says so`, () =>
      withServed('target pools', async (example, fake) => {
        await ensure(await example.driving());
        const before = rules(fake);
        fake.balancing.put('regions/us-central1/addresses/mine', wire);
        const annotations = { 'networking.gke.io/load-balancer-ip-addresses': 'mine' };
        const desired = { ...example.desired, annotations, mayChangeAddress: true };
        const { refusals } = await ensure(await example.driving({ desired }));
        assert.match(refusals[0]!.message, expected);
        assert.deepEqual(rules(fake), before);
      }));

  for (const mode of allModes)
    it(`lets in the health checks of before until the next ones are used (${mode})`, () =>
      withServed(
        mode,
        async (example, fake) => {
          await ensure(await example.driving());
          const firewalls = () => [...fake.balancing.resources.keys()].filter((path) => /firewalls.*-hc$/.test(path));
          const [before] = firewalls();
          const isSwitch = ({ method, path }: { method: string; path: string }) =>
            /HealthCheck$/.test(path) || (method === 'PATCH' && path.includes('/backendServices/'));
          fake.fault = (request) => (isSwitch(request) ? refusal(403, 'forbidden', 'No') : undefined);
          const healthCheck = { port: 10_256, path: '/healthz' };
          example.desired = { ...example.desired, healthCheck, trafficPolicy: 'Cluster' };
          await assert.rejects(ensure(await example.driving()));
          assert.ok(firewalls().includes(before!), String(firewalls()));
          fake.fault = undefined;
          await ensure(await example.driving());
          assert.ok(!firewalls().includes(before!));
        },
        { healthCheck: { port: 32_000, path: '/healthz' }, trafficPolicy: 'Local' },
      ));
});
