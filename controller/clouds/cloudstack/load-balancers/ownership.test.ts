import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, it } from 'node:test';
import { type BalancerHarness, createBalancerHarness } from '../../../../test/clouds/cloudstack/balancer-harness.ts';
import type { FakeRule } from '../../../../test/clouds/cloudstack/fake/fake-account.ts';
import { port } from '../../../../test/clouds/suite/desired.ts';
import { refOf } from '../../../../test/clouds/suite/drive.ts';
import type { LoadBalancerDriver } from '../../load-balancer-driver.ts';

/** What the classic controller makes for one port: its names are made of the Service's UID. */
function classic({ world, owner, vms }: BalancerHarness, fields: Partial<FakeRule> = {}, ip?: string) {
  const { fake } = world;
  const address = fake.addAddress(ip === undefined ? {} : { ip });
  const balancer = `a${owner.service.replaceAll('-', '')}`.slice(0, 32);
  const rule: FakeRule = {
    id: randomUUID(),
    name: `${balancer}-tcp-80`,
    algorithm: 'roundrobin',
    protocol: 'tcp',
    address: address.id,
    network: fake.network.id,
    publicPort: 80,
    privatePort: 30_080,
    cidrs: [],
    state: 'Active',
    vms: vms.map(({ providerID }) => providerID.slice('external-cloudstack://'.length)),
    ...fields,
  };
  fake.rules.set(rule.id, rule);
  const opening = { id: randomUUID(), place: address.id, protocol: 'tcp', first: 80, last: 80, reason: '' };
  fake.firewall.set(opening.id, { ...opening, cidrs: ['0.0.0.0/0'], state: 'Active' });
  return { address, rule };
}

describe('what the classic controller made', () => {
  it('takes over a load balancer of the classic controller as it is, and tags it with the first change', async () => {
    const harness = await createBalancerHarness();
    const { address, rule } = classic(harness);
    const shown = { addresses: [address.ip] };
    assert.equal((await harness.adopt(shown))?.id, address.id);
    assert.deepEqual([harness.changes(), address.tags, harness.rules()], [[], {}, [rule]]);
    await harness.adopt(shown, { ports: [port(80, 30_080), port(443, 30_443)] });
    assert.equal(address.tags['mooring.dev/service-uid'], harness.owner.service);
    const changes = harness.changes();
    assert.equal(changes[0], 'createTags');
    const others = ['assignToLoadBalancerRule', 'createFirewallRule', 'createLoadBalancerRule'];
    assert.deepEqual(changes.slice(1).sort(), others);
    assert.deepEqual(harness.rules()[0], rule);
  });

  it('names rules so that the classic controller finds them again', async () => {
    const harness = await createBalancerHarness();
    harness.world.fake.takesUdp = true;
    await harness.settle({
      ports: [port(80, 30_080), port(53, 30_053, { protocol: 'UDP' })],
      annotations: { 'proxy-protocol': 'true' },
    });
    // It searches by the name of the load balancer, and matches each port by the whole name.
    const balancer = harness.desired().name;
    const names = harness.rules().map(({ name }) => name);
    assert.deepEqual(names.sort(), [`${balancer}-tcp-proxy-80`, `${balancer}-udp-53`]);
  });

  for (const [what, spoil, addresses] of [
    ['an address that the Service does not show', {}, ['192.0.2.99']],
    ['no address in the status', {}, []],
    ['rules named after another Service', { name: `a${'0'.repeat(31)}-tcp-80` }, undefined],
    ['rules with names of people', { name: 'web' }, undefined],
  ] as const)
    it(`leaves a load balancer of the classic controller alone with ${what}`, async () => {
      const harness = await createBalancerHarness();
      const { address } = classic(harness, spoil);
      await harness.adopt({ addresses: addresses ?? [address.ip] });
      assert.deepEqual([harness.changes(), address.tags], [[], {}]);
    });

  it('keeps an address that the Service names when its rules go, also after a change here', async () => {
    const harness = await createBalancerHarness();
    const { fake } = harness.world;
    const { address } = classic(harness, {}, '192.0.2.50');
    await harness.adopt({ addresses: [address.ip] }, { address: address.ip, ports: [port(81, 30_081)] });
    await harness.restart();
    await harness.remove({ address: address.ip });
    assert.deepEqual(
      [fake.addresses.has(address.id), address.tags, fake.rules.size, fake.firewall.size],
      [true, {}, 0, 0],
    );
  });

  it('goes with the Service, but for an address that the Service names and a person acquired', async () => {
    for (const [annotations, isKept] of [
      [{}, true],
      [{ 'ip-associated-by-controller': 'true' }, false],
    ] as const) {
      const harness = await createBalancerHarness();
      const { fake } = harness.world;
      const { address } = classic(harness, {}, '192.0.2.50');
      const ask = { address: address.ip, annotations };
      await harness.adopt({ addresses: [address.ip] }, ask);
      await harness.remove(ask, { addresses: [address.ip] });
      assert.deepEqual([fake.addresses.has(address.id), fake.rules.size, fake.firewall.size], [isKept, 0, 0]);
    }
  });
});

describe('the slots of a Service', () => {
  it('releases the same, however often the slots of a Service were asked for', async () => {
    const harness = await createBalancerHarness();
    const { fake } = harness.world;
    const { address } = classic(harness, {}, '192.0.2.50');
    const ask = { address: address.ip };
    await harness.adopt({ addresses: [address.ip] }, ask);
    let driver: LoadBalancerDriver | undefined;
    const { loadBalancers } = await harness.world.open((one) => {
      driver = one;
      return one;
    });
    assert.ok(loadBalancers && driver);
    const { owner, world } = harness;
    const adopt = { clusterName: 'kubernetes', addresses: [address.ip] };
    const ref = { ...refOf(harness.desired(ask), { id: undefined }), adopt };
    await world.during(loadBalancers.observe({ ...ref, removing: true }));
    assert.deepEqual(driver.slots(ref), driver.slots(ref));
    driver.slots({ ...ref, address: undefined });
    const plan = loadBalancers.planRemoval(owner, { retain: false });
    await world.during(loadBalancers.apply(plan, { permit: () => {}, onStep: () => {} }));
    assert.deepEqual([fake.addresses.has(address.id), fake.rules.size], [true, 0]);
  });
});

describe('an address that the Service names', () => {
  it('keeps an address that was taken over when the Service names another one', async () => {
    const harness = await createBalancerHarness();
    const { fake } = harness.world;
    const { address } = classic(harness, {}, '192.0.2.50');
    const proof = { addresses: [address.ip] };
    await harness.adopt(proof, { address: address.ip });
    await harness.adopt(proof, { address: '192.0.2.77', mayChangeAddress: true });
    assert.deepEqual([...fake.addresses.values()].map(({ ip }) => ip).sort(), ['192.0.2.50', '192.0.2.77']);
  });

  it('releases an address that has no tags yet with the Service', async () => {
    const harness = await createBalancerHarness();
    const { fake } = harness.world;
    const ask = { address: '192.0.2.77' };
    fake.forbidden.add('createTags');
    await assert.rejects(harness.settle(ask));
    assert.equal(fake.addresses.size, 1);
    await harness.remove(ask);
    assert.equal(fake.addresses.size, 0);
  });

  it('acquires the free address that the Service names, and releases it with the Service', async () => {
    const harness = await createBalancerHarness();
    const { observed } = await harness.settle({ address: '192.0.2.77' });
    assert.equal(observed?.ingress[0]?.ip, '192.0.2.77');
    await harness.remove({ address: '192.0.2.77' });
    assert.equal(harness.world.fake.addresses.size, 0);
  });

  it('uses an address with consent and gives it back, with the rules of others on it', async () => {
    const harness = await createBalancerHarness();
    const { world } = harness;
    const consent = `${world.cluster}/shop`;
    const id = await world.createForeignLoadBalancer('theirs', consent);
    const { ip } = world.fake.addresses.get(id)!;
    const { refusals } = await harness.settle({ address: ip });
    assert.deepEqual(refusals, []);
    assert.deepEqual(
      harness.rules().map(({ publicPort }) => publicPort),
      [80, 81],
    );
    await harness.remove({ address: ip });
    assert.deepEqual(
      harness.rules().map(({ name }) => name),
      ['theirs'],
    );
    assert.deepEqual(world.fake.addresses.get(id)?.tags, { 'mooring.dev/attachable-by': consent });
    assert.equal(world.fake.firewall.size, 0);
  });

  it('refuses an address of another Service of the namespace, and names that Service', async () => {
    const harness = await createBalancerHarness();
    const tags = {
      'mooring.dev/cluster': harness.world.cluster,
      'mooring.dev/service-uid': randomUUID(),
      'mooring.dev/service': 'shop/other',
    };
    const { ip } = harness.world.fake.addAddress({ tags });
    await harness.restart();
    const { refusals, calls } = await harness.settle({ address: ip });
    assert.deepEqual([calls, refusals.map(({ reason }) => reason)], [0, ['ForeignLoadBalancer']]);
    assert.match(refusals[0]!.message, /belongs to Service shop\/other/);
  });
});

describe('what others made', () => {
  it('keeps a rule that others made on an address of ours, and the address with it', async () => {
    const harness = await createBalancerHarness();
    await harness.settle();
    const { fake } = harness.world;
    const { id } = harness.address();
    const theirs = { ...harness.rules()[0]!, id: randomUUID(), name: 'theirs', publicPort: 81, vms: [] };
    fake.rules.set(theirs.id, theirs);
    await harness.restart();
    assert.equal((await harness.settle()).calls, 0);
    await harness.remove();
    assert.deepEqual([harness.rules(), fake.addresses.get(id)?.tags], [[theirs], {}]);
  });

  it('acquires an address of its own, although an idle one of others would do', async () => {
    const harness = await createBalancerHarness();
    const idle = harness.world.fake.addAddress();
    await harness.restart();
    await harness.settle();
    assert.notEqual(harness.address().id, idle.id);
    assert.deepEqual(idle.tags, {});
  });
});

describe('an answer to the acquisition that was lost', () => {
  it('leaves no second address: the one that came is found and tagged, and that of a person is not', async () => {
    const harness = await createBalancerHarness();
    const { fake } = harness.world;
    const idle = fake.addAddress();
    harness.world.loseAnswer!(0);
    await harness.settle();
    assert.equal(harness.changes().filter((name) => name === 'associateIpAddress').length, 1);
    assert.deepEqual([fake.addresses.size, idle.tags], [2, {}]);
  });

  it('leaves none behind when the process ends with it: the next one finds and tags it', async () => {
    for (const acl of [undefined, 'nodes']) {
      const harness = await createBalancerHarness(acl === undefined ? {} : { acl });
      const { fake, pass } = harness.world;
      const { id: idle } = fake.addAddress({ network: fake.network.vpc ? undefined : fake.network.id });
      fake.addresses.get(idle)!.vpc = fake.network.vpc;
      // From the moment that the address comes nothing gets through to the process.
      fake.fault = () => (fake.addresses.size > 1 ? { status: 503, body: {} } : undefined);
      await assert.rejects(harness.settle());
      fake.fault = undefined;
      await pass(20_000);
      assert.deepEqual(
        [...fake.addresses.values()].map(({ tags }) => tags),
        [{}, {}],
      );
      await harness.restart();
      await harness.settle();
      assert.deepEqual([fake.addresses.size, fake.addresses.get(idle)?.tags], [2, {}]);
      assert.deepEqual([harness.address().id !== idle, fake.network.tags], [true, {}]);
    }
  });

  it('leaves none behind when the Service goes before the next process sees it', async () => {
    const harness = await createBalancerHarness();
    const { fake, pass } = harness.world;
    fake.fault = () => (fake.addresses.size > 0 ? { status: 503, body: {} } : undefined);
    await assert.rejects(harness.settle());
    fake.fault = undefined;
    await pass(20_000);
    await harness.restart();
    await harness.remove();
    assert.deepEqual([fake.addresses.size, fake.network.tags], [0, {}]);
  });

  it('gives the next process no right to an address that a person acquired after one was tagged', async () => {
    const harness = await createBalancerHarness();
    const { fake } = harness.world;
    fake.fault = ({ name, params }) =>
      name === 'deleteTags' && params.get('resourcetype') === 'Network' ? { status: 530, body: {} } : undefined;
    await harness.settle().catch(() => undefined);
    const theirs = fake.addAddress();
    fake.fault = undefined;
    await harness.restart();
    await harness.settle();
    assert.deepEqual([theirs.tags, fake.addresses.size, fake.network.tags], [{}, 2, {}]);
  });

  it('gives no right to an address that a person acquires later', async () => {
    const harness = await createBalancerHarness();
    const { fake, pass } = harness.world;
    let failures = 1;
    fake.fault = ({ name }) => {
      if (name !== 'associateIpAddress' || failures === 0) return undefined;
      failures -= 1;
      return { status: 530, body: { associateipaddressresponse: { errorcode: 530, errortext: 'Internal error' } } };
    };
    await harness.settle();
    await pass(3_600_000);
    const theirs = fake.addAddress({ network: fake.network.id });
    await harness.readAgain();
    await harness.settle();
    assert.deepEqual([fake.addresses.get(theirs.id)?.tags, fake.addresses.size], [{}, 2]);
  });

  it('gives no right to an address of another network', async () => {
    const harness = await createBalancerHarness();
    const { fake } = harness.world;
    const other = fake.addNetwork();
    let theirs: string | undefined;
    fake.fault = ({ name }) => {
      if (name !== 'associateIpAddress' || theirs !== undefined) return undefined;
      theirs = fake.addAddress({ network: other.id }).id;
      return { status: 530, body: { associateipaddressresponse: { errorcode: 530, errortext: 'Internal error' } } };
    };
    await harness.settle();
    assert.deepEqual([fake.addresses.get(theirs!)?.tags, fake.addresses.size], [{}, 2]);
  });
});

describe('an address that was released', () => {
  it('leaves alone a released address that others acquire under the same id', async () => {
    const harness = await createBalancerHarness();
    const { fake } = harness.world;
    await harness.settle();
    const { id } = harness.address();
    await harness.remove();
    await harness.world.pass(60_000);
    fake.addAddress({ id, network: fake.network.id });
    await harness.readAgain();
    await harness.settle();
    assert.deepEqual([fake.addresses.get(id)?.tags, fake.addresses.size], [{}, 2]);
  });
});

describe('an address that stays when its Service goes', () => {
  for (const isLent of [false, true])
    it(`serves the next Service of its namespace that names it${isLent ? ', and stays lent' : ''}`, async () => {
      const first = await createBalancerHarness();
      const { world } = first;
      const named = isLent ? { address: await world.freeAddress!(`${world.cluster}/shop`) } : {};
      await first.settle(named);
      const kept = first.address();
      await first.remove({ ...named, retain: true });
      assert.equal(kept.tags['mooring.dev/retained'], 'shop/web');
      const next = await createBalancerHarness({}, world);
      const ask = { address: kept.ip, ports: [port(80, 30_085), port(443, 30_443)] };
      await next.settle(ask);
      const { tags } = kept;
      assert.deepEqual(
        [tags['mooring.dev/service-uid'], tags['mooring.dev/retained'], tags['mooring.dev/lent']],
        [next.owner.service, undefined, isLent ? 'true' : undefined],
      );
      assert.deepEqual(
        next.rules().map(({ publicPort, privatePort }) => [publicPort, privatePort]),
        [
          [80, 30_085],
          [443, 30_443],
        ],
      );
      assert.equal(next.openings().length, 2);
      await next.remove(ask);
      assert.deepEqual([world.fake.addresses.has(kept.id), next.rules(), next.openings()], [isLent, [], []]);
    });

  it('marks a retained address also when it was never tagged with the name of its Service', async () => {
    const harness = await createBalancerHarness();
    await harness.settle();
    delete harness.address().tags['mooring.dev/service'];
    await harness.restart();
    await harness.remove({ retain: true });
    assert.equal(harness.address().tags['mooring.dev/retained'], 'unknown');
  });
});
