import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, it } from 'node:test';
import { createBalancerHarness } from '../../../../test/clouds/cloudstack/balancer-harness.ts';
import { port } from '../../../../test/clouds/suite/desired.ts';

describe('a load balancer', () => {
  it('makes an address with tags, and a rule with VMs and a firewall rule for each port', async () => {
    const harness = await createBalancerHarness();
    harness.world.fake.takesUdp = true;
    const { observed } = await harness.settle({ ports: [port(80, 30_080), port(53, 30_053, { protocol: 'UDP' })] });
    const { tags, ip, network } = harness.address();
    assert.deepEqual(tags, {
      'mooring.dev/cluster': harness.world.cluster,
      'mooring.dev/service-uid': harness.owner.service,
      'mooring.dev/service': 'shop/web',
      'mooring.dev/network': network,
    });
    assert.deepEqual(observed?.ingress, [{ ip, ipMode: 'VIP' }]);
    const name = `a${harness.owner.service.replaceAll('-', '')}`.slice(0, 32);
    const shown = harness
      .rules()
      .map((one) => [one.name, one.publicPort, one.privatePort, one.algorithm, one.vms.length]);
    assert.deepEqual(shown, [
      [`${name}-udp-53`, 53, 30_053, 'roundrobin', 2],
      [`${name}-tcp-80`, 80, 30_080, 'roundrobin', 2],
    ]);
    const opened = harness.openings().map(({ protocol, first, cidrs }) => [protocol, first, cidrs]);
    assert.deepEqual(opened, [
      ['udp', 53, ['0.0.0.0/0']],
      ['tcp', 80, ['0.0.0.0/0']],
    ]);
  });

  it('takes all VMs that come in one call for each rule, and all that go in another', async () => {
    const harness = await createBalancerHarness();
    await harness.settle();
    const more = await Promise.all([1, 2, 3].map(() => harness.world.createVm()));
    const members = harness.desired().members;
    harness.changes();
    const all = more.map(({ name, providerID, addresses, zone }) => ({
      node: name,
      providerID,
      addresses,
      zone,
      draining: false,
    }));
    await harness.settle({ members: all });
    assert.deepEqual(harness.changes(), ['assignToLoadBalancerRule', 'removeFromLoadBalancerRule']);
    await harness.settle({ members: [...all, ...members] });
    assert.deepEqual(harness.changes(), ['assignToLoadBalancerRule']);
  });

  it('follows session affinity in place, and the PROXY protocol by another rule', async () => {
    const harness = await createBalancerHarness();
    await harness.settle();
    const [before] = harness.rules();
    harness.changes();
    const sticky = { sessionAffinity: { timeoutSeconds: 60 } };
    await harness.settle(sticky);
    assert.deepEqual(harness.changes(), ['updateLoadBalancerRule']);
    assert.deepEqual(
      harness.rules().map(({ id, algorithm }) => [id, algorithm]),
      [[before!.id, 'source']],
    );
    const { observed } = await harness.settle({ ...sticky, annotations: { 'proxy-protocol': 'true' } });
    const made = ['deleteLoadBalancerRule', 'createLoadBalancerRule', 'assignToLoadBalancerRule'];
    assert.deepEqual(harness.changes(), made);
    const [{ id, algorithm, protocol, name, vms } = before!, ...others] = harness.rules();
    assert.notEqual(id, before!.id);
    assert.deepEqual([algorithm, protocol, vms.length, others], ['source', 'tcp-proxy', 2, []]);
    assert.match(name, /-tcp-proxy-80$/);
    assert.equal(observed?.ingress[0]?.ipMode, 'Proxy');
  });

  it('makes a stickiness policy of each rule, which follows its annotation and goes with it', async () => {
    const harness = await createBalancerHarness();
    const { policies } = harness.world.fake;
    const ports = [port(80, 30_080), port(443, 30_443)];
    const stickiness = (text: string) => ({ ports, annotations: { stickiness: text } });
    const shown = () => [...policies.values()].map(({ method, params }) => [method, params]);
    await harness.settle({ ...stickiness('SourceBased'), sessionAffinity: { timeoutSeconds: 600 } });
    assert.deepEqual(shown(), Array(2).fill(['SourceBased', { expire: '600s' }]));
    assert.deepEqual(
      harness.rules().map(({ algorithm }) => algorithm),
      ['source', 'source'],
    );
    await harness.restart();
    const cookie = stickiness('AppCookie, cookie-name=JSESSIONID, length=52');
    await harness.settle(cookie);
    assert.deepEqual(shown(), Array(2).fill(['AppCookie', { 'cookie-name': 'JSESSIONID', length: '52' }]));
    assert.equal((await harness.settle(cookie)).calls, 0);
    await harness.settle({ ports });
    assert.deepEqual(shown(), []);
    await harness.settle(stickiness('LbCookie'));
    await harness.remove({ ports });
    assert.deepEqual(shown(), []);
  });

  it('leaves the policy that a person has given to one of its rules', async () => {
    const harness = await createBalancerHarness();
    await harness.settle();
    const [rule] = harness.rules();
    const theirs = { id: randomUUID(), rule: rule!.id, name: 'theirs', method: 'LbCookie', params: {} };
    harness.world.fake.policies.set(theirs.id, theirs);
    await harness.restart();
    const { calls } = await harness.settle();
    assert.deepEqual([calls, [...harness.world.fake.policies.values()]], [0, [theirs]]);
  });

  for (const text of ['cookie', 'LbCookie, length=52', 'SourceBased, expire', 'SourceBased, expire=a b'])
    it(`refuses the stickiness ${JSON.stringify(text)}, and names it`, async () => {
      const harness = await createBalancerHarness();
      const { refusals } = await harness.settle({ annotations: { stickiness: text } });
      assert.match(refusals[0]?.message ?? '', /stickiness: ".*", expected LbCookie, AppCookie or SourceBased/);
    });

  it('keeps source ranges at the firewall, and source-cidrs at the rule, which is made again', async () => {
    const harness = await createBalancerHarness();
    await harness.settle();
    harness.changes();
    await harness.settle({ sourceRanges: ['192.0.2.0/24'] });
    assert.deepEqual(harness.changes(), ['deleteFirewallRule', 'createFirewallRule']);
    assert.deepEqual(harness.openings()[0]?.cidrs, ['192.0.2.0/24']);
    await harness.settle({
      sourceRanges: ['192.0.2.0/24'],
      annotations: { 'source-cidrs': '198.51.100.7/24, 10.0.0.0/8' },
    });
    assert.deepEqual(harness.rules()[0]?.cidrs, ['10.0.0.0/8', '198.51.100.0/24']);
    assert.equal(
      (
        await harness.settle({
          sourceRanges: ['192.0.2.0/24'],
          annotations: { 'source-cidrs': '10.0.0.0/8,198.51.100.0/24' },
        })
      ).calls,
      0,
    );
  });

  it('shows the hostname of its annotation, another process too, until the annotation goes', async () => {
    const harness = await createBalancerHarness();
    const annotations = { hostname: 'web.example.com' };
    assert.deepEqual((await harness.settle({ annotations })).observed?.ingress, [{ hostname: 'web.example.com' }]);
    await harness.restart();
    assert.deepEqual((await harness.settle({ annotations })).observed?.ingress, [{ hostname: 'web.example.com' }]);
    await harness.settle({ annotations: { hostname: 'www.example.com' } });
    assert.equal(harness.address().tags['mooring.dev/hostname'], 'www.example.com');
    const { observed } = await harness.settle();
    assert.deepEqual(observed?.ingress, [{ ip: harness.address().ip, ipMode: 'VIP' }]);
  });

  it('keeps a load balancer whose annotation cannot be read, and names the value', async () => {
    const harness = await createBalancerHarness();
    await harness.settle();
    const { calls, refusals } = await harness.settle({
      ports: [port(81, 30_081)],
      annotations: { 'source-cidrs': '10.0.0.0' },
    });
    assert.equal(calls, 0);
    assert.match(refusals[0]?.message ?? '', /source-cidrs: "10\.0\.0\.0", expected CIDRs/);
  });

  it('serves no SCTP and no port without node port, and says so of that port alone', async () => {
    const harness = await createBalancerHarness();
    const ports = [port(80, 30_080), port(81, 0), port(9, 30_009, { protocol: 'SCTP' })];
    const { refusals } = await harness.settle({ ports });
    assert.deepEqual(
      harness.rules().map(({ publicPort }) => publicPort),
      [80],
    );
    assert.deepEqual(refusals.map((one) => one.ports?.[0]?.port).sort(), [81, 9]);
  });

  it('serves TCP where a port has UDP, too, which would conflict, and says so of UDP alone', async () => {
    const harness = await createBalancerHarness();
    harness.world.fake.takesUdp = true;
    const udp = port(53, 30_054, { protocol: 'UDP' });
    const { refusals } = await harness.settle({ ports: [udp, port(53, 30_053)] });
    const protocols = () => harness.rules().map(({ protocol }) => protocol);
    assert.deepEqual(protocols(), ['tcp']);
    assert.deepEqual(refusals[0]?.ports, [{ port: 53, protocol: 'UDP' }]);
    await harness.settle({ ports: [udp] });
    assert.deepEqual(protocols(), ['udp']);
  });

  it('serves TCP where the provider balances no UDP, and says so', async () => {
    const harness = await createBalancerHarness();
    const ports = [port(53, 30_053, { protocol: 'UDP' }), port(80, 30_080)];
    await assert.rejects(harness.settle({ ports }), {
      kind: 'Invalid',
      message: /UDP 53: the provider of load balancing in network \S+ cannot support it/,
    });
    const shown = harness.rules().map(({ publicPort, vms }) => [publicPort, vms.length]);
    assert.deepEqual(shown, [[80, 2]]);
  });

  it('names the VM that cannot be a member any more', async () => {
    const harness = await createBalancerHarness();
    const [vm] = harness.vms;
    const id = vm!.providerID.slice('external-cloudstack://'.length);
    harness.world.fake.vms.get(id)!.state = 'Destroyed';
    await assert.rejects(harness.settle(), { kind: 'Invalid', subjects: [vm!.providerID] });
    const members = harness.desired().members.filter(({ node }) => node !== vm!.name);
    await harness.settle({ members });
    assert.equal(harness.rules()[0]!.vms.length, 1);
  });

  it('takes a VM that a person has assigned meanwhile', async () => {
    const harness = await createBalancerHarness();
    await harness.settle();
    const { name, providerID, addresses, zone } = await harness.world.createVm();
    harness.rules()[0]!.vms.push(providerID.slice('external-cloudstack://'.length));
    const members = [...harness.desired().members, { node: name, providerID, addresses, zone, draining: false }];
    await harness.settle({ members });
    assert.equal(harness.rules()[0]!.vms.length, 3);
  });

  it('keeps the address that it acquires while its job cannot be read, and acquires no other one', async () => {
    const harness = await createBalancerHarness();
    const { fake } = harness.world;
    fake.network.isOthers = true;
    let failures = 0;
    fake.fault = ({ name, params }) => {
      const isAcquisition = fake.jobs.get(params.get('jobid') ?? '')?.command === 'associateIpAddress';
      if (name !== 'queryAsyncJobResult' || !isAcquisition || failures > 0) return undefined;
      failures += 1;
      return { status: 503, body: {} };
    };
    await harness.settle();
    assert.deepEqual([failures, fake.addresses.size], [1, 1]);
    await harness.remove();
    assert.equal(fake.addresses.size, 0);
    await harness.world.close();
  });

  it('gets an address for a network of another account, which cannot be tagged', async () => {
    const harness = await createBalancerHarness();
    harness.world.fake.network.isOthers = true;
    await harness.settle();
    assert.deepEqual([harness.rules().length, harness.world.fake.network.tags], [1, {}]);
  });

  it('refuses a network whose offering has no load balancing, and acquires no address', async () => {
    const harness = await createBalancerHarness();
    harness.world.fake.network.services = ['SourceNat', 'Dhcp'];
    await assert.rejects(
      harness.settle(),
      /network nodes \([0-9a-f-]+\) has no load balancing, expected one with the service Lb/,
    );
    assert.deepEqual(harness.changes(), []);
  });

  it('refuses VMs in different networks', async () => {
    const harness = await createBalancerHarness();
    const { fake } = harness.world;
    [...fake.vms.values()][1]!.networks[0] = fake.addNetwork().id;
    await assert.rejects(harness.settle(), /the nodes are in networks .*, expected one/);
  });

  it('waits for jobs that fail or run into a quota, and is whole afterwards', async () => {
    const harness = await createBalancerHarness();
    harness.world.fake.maxAddresses = 0;
    await assert.rejects(harness.settle(), (error: { kind?: string }) => error.kind === 'QuotaExceeded');
    harness.world.fake.maxAddresses = 5;
    await harness.settle();
    assert.equal(harness.rules()[0]?.vms.length, 2);
  });
});

describe('in a VPC', () => {
  it('the ACL lets the source ranges in, changes in place, and its rules go with the Service', async () => {
    const harness = await createBalancerHarness({ acl: 'nodes' });
    await harness.settle({ sourceRanges: ['192.0.2.0/24'] });
    const { vpc, tags } = harness.address();
    assert.deepEqual(
      [vpc, tags['mooring.dev/network']],
      [harness.world.fake.network.vpc, harness.world.fake.network.id],
    );
    const [before] = harness.openings();
    assert.deepEqual([before?.place, before?.cidrs], [harness.world.fake.network.acl?.id, ['192.0.2.0/24']]);
    await harness.settle();
    assert.deepEqual(
      harness.openings().map(({ id, cidrs }) => [id, cidrs]),
      [[before!.id, ['0.0.0.0/0']]],
    );
    await harness.remove();
    assert.deepEqual([harness.openings(), harness.rules(), harness.world.fake.addresses.size], [[], [], 0]);
  });

  it('a rule of others that lets in the same serves, and stays', async () => {
    const harness = await createBalancerHarness({ acl: 'nodes' });
    const { fake } = harness.world;
    const place = fake.network.acl!.id;
    const others = {
      id: '6e8a6b4a-2b25-4d2e-8a2f-3c9a4c1f7f6a',
      place,
      protocol: 'tcp',
      first: 80,
      last: 80,
      reason: 'web',
    };
    fake.acls.set(others.id, { ...others, cidrs: ['0.0.0.0/0'], state: 'Active' });
    await harness.restart();
    await harness.settle();
    await harness.remove();
    assert.deepEqual(
      harness.openings().map(({ id }) => id),
      [others.id],
    );
    assert.ok(!harness.changes().includes('createNetworkACL'));
  });

  for (const acl of ['default_allow', 'default_deny'])
    it(`the ACL ${acl} is left alone`, async () => {
      const harness = await createBalancerHarness({ acl });
      await harness.settle();
      assert.deepEqual([harness.openings(), harness.rules().length], [[], 1]);
    });

  it('source ranges that nothing would keep make no rule, unless the rules have them', async () => {
    const harness = await createBalancerHarness({ acl: 'default_allow' });
    const sourceRanges = ['192.0.2.0/24'];
    const { refusals } = await harness.settle({ sourceRanges });
    assert.match(refusals[0]?.message ?? '', /^spec.loadBalancerSourceRanges: 192.0.2.0\/24, expected them in /);
    assert.deepEqual(harness.rules(), []);
    const { refusals: none } = await harness.settle({ sourceRanges, annotations: { 'source-cidrs': '192.0.2.0/24' } });
    assert.deepEqual([none, harness.rules()[0]?.cidrs], [[], sourceRanges]);
  });
});
