import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createBalancerHarness } from '../../../../test/clouds/alibaba/balancer-harness.ts';
import { desiredFor, memberOf, newOwner, port } from '../../../../test/clouds/suite/desired.ts';
import { ensure } from '../../../../test/clouds/suite/drive.ts';

describe('a load balancer of Alibaba Cloud', () => {
  it('creates a load balancer with its parts, and starts each listener', async () => {
    const harness = await createBalancerHarness();
    const { observed } = await harness.settle({ ports: [port(80, 30_080), port(443, 30_443)] });
    assert.deepEqual(harness.changes().sort(), [
      'CreateLoadBalancer',
      'CreateLoadBalancerTCPListener',
      'CreateLoadBalancerTCPListener',
      'CreateVServerGroup',
      'CreateVServerGroup',
      'StartLoadBalancerListener',
      'StartLoadBalancerListener',
    ]);
    const { wire, listeners } = harness.balancer();
    assert.deepEqual(observed?.ingress, [{ ip: wire['Address'], ipMode: 'VIP' }]);
    assert.ok([...listeners.values()].every(({ isStarted }) => isStarted));
    await harness.world.close();
  });

  it('changes what an annotation says once, right after the create', async () => {
    const harness = await createBalancerHarness();
    await harness.settle();
    harness.changes();
    const { refusals } = await harness.settle({ annotations: { 'delete-protection': 'on' } });
    assert.deepEqual([harness.changes(), refusals], [['SetLoadBalancerDeleteProtection'], []]);
    await harness.remove();
    assert.equal(harness.world.fake.balancers.size, 0);
    await harness.world.close();
  });

  it('gives no public address where the operator has disabled them', async () => {
    const harness = await createBalancerHarness({ DISABLE_PUBLIC_SLB: 'true' });
    await harness.settle();
    assert.equal(harness.balancer().wire['AddressType'], 'intranet');
    const { refusals } = await harness.settle({ annotations: { 'address-type': 'internet' } });
    assert.match(refusals.map(({ message }) => message).join(), /disablePublicSLB/);
    assert.equal(harness.balancer().wire['AddressType'], 'intranet');
    await harness.world.close();
  });

  it('reads the server groups of its own load balancer alone', async () => {
    const harness = await createBalancerHarness();
    const { world, vms } = harness;
    await harness.settle();
    const { loadBalancers: balancers } = await world.open();
    const desired = desiredFor(newOwner(world.cluster), vms);
    await ensure({ world, balancers: balancers!, desired, record: { id: undefined } });
    world.fake.calls.splice(0);
    await harness.settle();
    assert.equal(world.fake.calls.filter((action) => action === 'DescribeVServerGroups').length, 1);
    await world.close();
  });

  it('asks kube-proxy on each node whether it is healthy, until an annotation says otherwise', async () => {
    const harness = await createBalancerHarness();
    await harness.settle();
    const check = () => {
      const [one] = harness.balancer().listeners.values();
      return ['HealthCheckType', 'HealthCheckConnectPort', 'HealthCheckURI'].map((name) => one?.wire[name]);
    };
    assert.deepEqual(check(), ['http', 10_256, '/healthz']);
    await harness.settle({ annotations: { 'health-check-type': 'tcp', 'health-check-connect-port': '30080' } });
    assert.deepEqual(check().slice(0, 2), ['tcp', 30_080]);
    await harness.world.close();
  });

  it('makes a UDP listener again for another hash, and then settles without a change', async () => {
    const harness = await createBalancerHarness();
    const schedulers = () => [...harness.balancer().listeners.values()].map(({ wire }) => wire['Scheduler']);
    const ports = [port(53, 30_053, { protocol: 'UDP' })];
    const pinned = { ports, sessionAffinity: { timeoutSeconds: 60 } };
    await harness.settle({ ports });
    for (const [ask, scheduler] of [
      [{ ...pinned, sourceRanges: ['192.0.2.0/24'] }, 'sch'],
      [{ ...pinned, annotations: { scheduler: 'tch' } }, 'tch'],
      [pinned, 'sch'],
      [{ ports }, 'rr'],
    ] as const) {
      await harness.settle(ask);
      assert.deepEqual(schedulers(), [scheduler]);
      harness.changes();
      await harness.settle(ask);
      assert.deepEqual(harness.changes(), []);
    }
    await harness.world.close();
  });

  it('keeps what no annotation says when a listener is made again', async () => {
    const harness = await createBalancerHarness();
    const ports = [port(53, 30_053, { protocol: 'UDP' })];
    await harness.settle({ ports });
    const [before] = harness.balancer().listeners.values();
    const { lists } = harness.world.fake;
    lists.set('acl-theirs', { id: 'acl-theirs', name: 'x', version: 'ipv4', tags: new Map(), entries: [] });
    const theirs = { AclStatus: 'on', AclType: 'white', AclId: 'acl-theirs', Bandwidth: 7, UnhealthyThreshold: 5 };
    Object.assign(before!.wire, theirs);
    await harness.restart();
    await harness.settle({ ports, sessionAffinity: { timeoutSeconds: 60 } });
    const [after] = harness.balancer().listeners.values();
    assert.notEqual(after, before);
    const expected = { ...theirs, Scheduler: 'sch' };
    for (const [name, value] of Object.entries(expected)) assert.equal(after!.wire[name], value, name);
    await harness.world.close();
  });

  it('leaves ports alone whose protocol has no such hash, and says so', async () => {
    const harness = await createBalancerHarness();
    const ports = [port(80, 30_080), port(443, 30_443), port(53, 30_053, { protocol: 'UDP' })];
    const { remarks } = await harness.settle({ ports, annotations: { 'protocol-port': 'http:80', scheduler: 'qch' } });
    const listeners = [...harness.balancer().listeners.values()];
    assert.deepEqual(listeners.map(({ protocol, wire }) => `${protocol} ${wire['Scheduler']}`).sort(), [
      'http rr',
      'tcp rr',
      'udp qch',
    ]);
    assert.match(remarks.join(), /scheduler has no effect on http, tcp, which have no such hash/);
    await harness.world.close();
  });

  it('takes twenty servers a call, and lets one that drains go without new connections', async () => {
    const harness = await createBalancerHarness();
    const vms = await Promise.all(Array.from({ length: 45 }, () => harness.world.createVm()));
    const members = vms.map((vm) => memberOf(vm));
    const { observed } = await harness.settle({ members });
    assert.equal(observed?.members.length, 45);
    const actions = harness.changes();
    assert.equal(actions.filter((action) => action === 'AddVServerGroupBackendServers').length, 2);
    await harness.settle({ members: [memberOf(vms[0]!, true), ...members.slice(1)] });
    assert.deepEqual(harness.changes(), ['SetVServerGroupAttribute']);
    const [group] = harness.balancer().groups.values();
    assert.equal(group?.servers.find((one) => vms[0]!.providerID.endsWith(String(one['ServerId'])))?.['Weight'], 0);
    await harness.world.close();
  });

  it('lets in source ranges alone by a list of its own, and leaves a list that is named by an annotation', async () => {
    const harness = await createBalancerHarness();
    const { fake } = harness.world;
    const sourceRanges = Array.from({ length: 70 }, (_, at) => `10.${at}.0.0/16`);
    await harness.settle({ sourceRanges: sourceRanges.toSorted() });
    const [list] = fake.lists.values();
    assert.deepEqual(list?.entries.toSorted(), sourceRanges.toSorted());
    const [{ wire } = { wire: {} as Record<string, unknown> }] = harness.balancer().listeners.values();
    assert.deepEqual([wire['AclStatus'], wire['AclType'], wire['AclId']], ['on', 'white', list.id]);

    fake.lists.set('acl-bp1theirs', { id: 'acl-bp1theirs', name: 'x', version: 'ipv4', tags: new Map(), entries: [] });
    const annotations = { 'acl-id': 'acl-bp1theirs', 'acl-type': 'black', 'acl-status': 'on' };
    await harness.settle({ annotations });
    assert.deepEqual([...fake.lists.keys()], ['acl-bp1theirs']);
    assert.equal(wire['AclId'], 'acl-bp1theirs');
    await harness.settle();
    assert.equal(wire['AclId'], 'acl-bp1theirs');
    await harness.world.close();
  });

  it('takes one change at a time, and waits while it is being configured', async () => {
    const harness = await createBalancerHarness();
    harness.world.fake.busyMs = 1500;
    const { refusals } = await harness.settle({ ports: [port(80, 30_080), port(443, 30_443)] });
    assert.deepEqual(refusals, []);
    assert.equal(harness.balancer().listeners.size, 2);
    await harness.world.close();
  });

  it('changes its address only with consent', async () => {
    const harness = await createBalancerHarness();
    await harness.settle();
    const { id } = harness.balancer();
    const annotations = { 'address-type': 'intranet' };
    const { refusals } = await harness.settle({ annotations });
    assert.deepEqual(
      refusals.map(({ reason }) => reason),
      ['AddressWouldChange'],
    );
    assert.equal(harness.balancer().id, id);
    const { observed } = await harness.settle({ annotations, mayChangeAddress: true });
    assert.notEqual(harness.balancer().id, id);
    assert.equal(harness.balancer().wire['VSwitchId'], harness.world.fake.vswitch);
    assert.equal(observed?.ingress[0]?.ip, harness.balancer().wire['Address']);
    await harness.world.close();
  });

  it('changes nothing where an annotation cannot be read, and says which', async () => {
    const harness = await createBalancerHarness();
    await harness.settle();
    harness.changes();
    const { refusals } = await harness.settle({ ports: [port(81, 30_081)], annotations: { scheduler: 'best' } });
    assert.match(refusals[0]?.message ?? '', /loadbalancer-scheduler: "best", expected wrr/);
    assert.deepEqual(harness.changes(), []);
    await harness.world.close();
  });

  it('ignores size and bandwidth of a load balancer that is charged by use, and says so', async () => {
    const harness = await createBalancerHarness();
    const annotations = {
      spec: 'slb.s1.small',
      'instance-charge-type': 'PayBySpec',
      'charge-type': 'paybybandwidth',
      bandwidth: '20',
    };
    await harness.settle({ annotations });
    assert.deepEqual(
      harness.changes().filter((action) => action.startsWith('Modify')),
      [],
    );
    await harness.restart();
    const { refusals, remarks } = await harness.settle({ annotations });
    assert.deepEqual([harness.changes(), refusals], [[], []]);
    assert.deepEqual(remarks, [
      'without effect, because the load balancer is charged by use: InternetChargeType paybybandwidth, Bandwidth 20, ' +
        'InstanceChargeType PayBySpec, LoadBalancerSpec slb.s1.small',
    ]);
    assert.equal(harness.balancer().wire['LoadBalancerSpec'], 'slb.lcu.elastic');
    await harness.world.close();
  });

  it('changes size and bandwidth of a load balancer that is charged by size, until it is not', async () => {
    const harness = await createBalancerHarness();
    await harness.settle();
    const { wire } = harness.balancer();
    Object.assign(wire, { InstanceChargeType: 'PayBySpec', LoadBalancerSpec: 'slb.s1.small' });
    await harness.restart();
    harness.changes();
    const size = { spec: 'slb.s2.small', 'charge-type': 'paybybandwidth', bandwidth: '20' };
    await harness.settle({ annotations: size });
    assert.deepEqual(harness.changes().sort(), ['ModifyLoadBalancerInstanceSpec', 'ModifyLoadBalancerInternetSpec']);
    assert.deepEqual([wire['LoadBalancerSpec'], wire['Bandwidth']], ['slb.s2.small', 20]);
    await harness.settle({ annotations: { ...size, spec: 'slb.s3.small', 'instance-charge-type': 'PayByCLCU' } });
    assert.deepEqual(harness.changes(), ['ModifyLoadBalancerInstanceChargeType']);
    await harness.world.close();
  });

  it('ignores the bandwidth annotation without paybybandwidth, and says so', async () => {
    const harness = await createBalancerHarness();
    await harness.settle();
    Object.assign(harness.balancer().wire, { InstanceChargeType: 'PayBySpec', LoadBalancerSpec: 'slb.s1.small' });
    await harness.restart();
    harness.changes();
    const { remarks } = await harness.settle({ annotations: { bandwidth: '20' } });
    assert.deepEqual(harness.changes(), []);
    assert.match(remarks.join(), /loadbalancer-bandwidth has no effect/);
    await harness.world.close();
  });

  it('creates a load balancer of its own beside one of others that has no address', async () => {
    const harness = await createBalancerHarness();
    const { fake } = harness.world;
    const id = await harness.world.createForeignLoadBalancer('theirs', undefined);
    const theirs = fake.balancers.get(id)!;
    theirs.wire['Address'] = '';
    const wire = { Scheduler: 'rr', AclStatus: 'off' };
    theirs.listeners.set('tcp:80', { port: 80, protocol: 'tcp', isStarted: true, wire, tags: new Map() });
    const { observed } = await harness.settle();
    assert.notEqual(observed?.id, id);
    await harness.remove();
    assert.deepEqual([...fake.balancers.keys()], [id]);
    await harness.world.close();
  });

  it('rejects with QuotaExceeded when the quota is used up', async () => {
    const harness = await createBalancerHarness();
    harness.world.fake.maxBalancers = 0;
    await assert.rejects(harness.settle(), { kind: 'QuotaExceeded' });
    await harness.world.close();
  });
});
