import assert from 'node:assert/strict';
import { after, afterEach, before, beforeEach, describe, it } from 'node:test';
import { systemClock } from '../../../../common/process/clock.ts';
import { silentLog } from '../../../../common/process/log.ts';
import {
  answerError,
  answerXml,
  type FakeEc2,
  running,
  startFakeEc2,
} from '../../../../test/clouds/aws/fake/fake-ec2.ts';
import type { CloudContext, OpenedCloud } from '../../cloud.ts';
import { normalCidr } from '../../ip-address.ts';
import { WithheldError } from '../../permit.ts';
import type { DesiredRoute, Routes } from '../../routes.ts';
import { cloudModule } from '../index.ts';

const id = (n: number) => `i-${n.toString(16).padStart(17, '0')}`;
const cluster = '7d5c3a66-1f0e-4b8e-9a51-0c6d1f3b2a10';
const always = { permit: () => {} };
const one = '10.244.1.0/24';

function desired(n: number, destination = `10.244.${n}.0/24`): DesiredRoute {
  const providerID = `aws:///eu-west-1a/${id(n)}`;
  return { cluster, node: `node-${n}`, nodeUid: `uid-${n}`, destination, providerID, addresses: [] };
}

let ec2: FakeEc2;
const opened: OpenedCloud[] = [];

async function open(config: readonly string[] = [], more: Partial<CloudContext> = {}): Promise<Routes> {
  const lines = ['[Global]', 'Region = eu-west-1', 'KubernetesClusterID = one', ...config];
  const cloud = await cloudModule.open(
    { path: 'aws.conf', text: lines.join('\n') },
    {
      clock: systemClock(),
      random: () => 0.5,
      log: silentLog,
      onCall: () => {},
      env: {
        AWS_ACCESS_KEY_ID: 'AKIDEXAMPLE',
        AWS_SECRET_ACCESS_KEY: 'secret',
        AWS_ENDPOINT_URL_EC2: ec2.url,
        AWS_EC2_METADATA_DISABLED: 'true',
      },
      ...more,
    },
  );
  assert.ok('identify' in cloud);
  opened.push(cloud);
  assert.ok(cloud.routes);
  return cloud.routes;
}

const sent = () => ec2.calls.map(({ action }) => action);
const table = () => ec2.tables.get('rtb-1')!;

describe('pod routes on AWS, at a fake EC2', () => {
  before(async () => {
    ec2 = await startFakeEc2();
  });
  after(() => ec2.close());
  beforeEach(() => {
    ec2.tables.set('rtb-1', { id: 'rtb-1', tags: { 'kubernetes.io/cluster/one': 'shared' }, routes: new Map() });
    ec2.tables.set('rtb-2', { id: 'rtb-2', tags: { 'kubernetes.io/cluster/two': 'owned' }, routes: new Map() });
    for (const n of [1, 2, 3]) ec2.instances.set(id(n), running(id(n)));
  });
  afterEach(() => {
    for (const cloud of opened.splice(0)) cloud.close();
    ec2.tables.clear();
    ec2.instances.clear();
    ec2.calls.length = 0;
    ec2.fault = undefined;
    ec2.routeLimit = 50;
  });

  it("creates a route in the table with the cluster's tag, after the source/destination check is off", async () => {
    const routes = await open();
    const made = await routes.create(desired(1), always);
    assert.ok(sent().indexOf('ModifyInstanceAttribute') < sent().indexOf('CreateRoute'));
    assert.ok(sent().length <= 4, sent().join());
    assert.deepEqual([...table().routes], [[one, { instance: id(1) }]]);
    assert.equal(ec2.instances.get(id(1))?.sourceDestCheck, false);
    const [seen] = (await routes.observe(cluster)).routes;
    assert.deepEqual(seen, made);
  });

  it('switches the check off once for each instance, and never where it is off', async () => {
    ec2.instances.set(id(2), running(id(2), { sourceDestCheck: false }));
    const routes = await open();
    await routes.create(desired(1), always);
    await routes.create(desired(1, '10.244.9.0/24'), always);
    await routes.create(desired(2), always);
    assert.equal(sent().filter((action) => action === 'ModifyInstanceAttribute').length, 1);
    const again = await open();
    ec2.calls.length = 0;
    await again.create(desired(1, '10.244.8.0/24'), always);
    assert.ok(!sent().includes('ModifyInstanceAttribute'));
  });

  it('sees a second interface and a check that is on again before each route', async () => {
    const routes = await open();
    await routes.remove(await routes.create(desired(1), always), always);
    const interfaces = [
      { id: 'eni-a', deviceIndex: 0, privateIps: ['10.0.0.1'] },
      { id: 'eni-b', deviceIndex: 1, privateIps: ['10.0.0.2'] },
    ];
    ec2.instances.set(id(1), running(id(1), { interfaces }));
    await routes.create(desired(1), always);
    assert.deepEqual(table().routes.get(one), { interfaceId: 'eni-a' });
    assert.equal(ec2.instances.get(id(1))?.interfaces?.[0]?.sourceDestCheck, false);
  });

  it('creates many at once with one read of their instances', async () => {
    const routes = await open();
    await routes.observe(cluster);
    ec2.calls.length = 0;
    await Promise.all([1, 2, 3].map((n) => routes.create(desired(n), always)));
    assert.deepEqual(
      ['DescribeInstances', 'DescribeRouteTables', 'ModifyInstanceAttribute', 'CreateRoute'].map(
        (wanted) => sent().filter((action) => action === wanted).length,
      ),
      [1, 0, 3, 3],
    );
  });

  it('routes IPv6 ranges', async () => {
    const routes = await open();
    await routes.create(desired(1, '2001:db8:42::/64'), always);
    assert.equal(ec2.calls.at(-1)?.form.get('DestinationIpv6CidrBlock'), '2001:db8:42::/64');
    const [seen] = (await routes.observe(cluster)).routes;
    assert.equal(seen?.destination, '2001:db8:42::/64');
    await routes.remove(seen, always);
    assert.equal(table().routes.size, 0);
  });

  it('names the interface where an instance has several', async () => {
    const interfaces = [
      { id: 'eni-c', deviceIndex: 0, cardIndex: 1, privateIps: ['10.0.0.3'] },
      { id: 'eni-b', deviceIndex: 1, privateIps: ['10.0.0.2'] },
      { id: 'eni-a', deviceIndex: 0, privateIps: ['10.0.0.1'] },
    ];
    ec2.instances.set(id(1), running(id(1), { interfaces }));
    const routes = await open();
    await routes.create(desired(1), always);
    assert.ok(sent().indexOf('ModifyNetworkInterfaceAttribute') < sent().indexOf('CreateRoute'));
    assert.ok(sent().length <= 4, sent().join());
    const checks = ec2.instances.get(id(1))?.interfaces?.map((one) => [one.id, one.sourceDestCheck]);
    assert.deepEqual(checks, [
      ['eni-c', undefined],
      ['eni-b', undefined],
      ['eni-a', false],
    ]);
    assert.deepEqual(table().routes.get(one), { interfaceId: 'eni-a' });
    const [seen] = (await routes.observe(cluster)).routes;
    assert.equal(seen?.providerID, desired(1).providerID);
    assert.deepEqual(await (await open()).create(desired(1), always), seen);
    await routes.remove(seen, always);
    assert.equal(table().routes.size, 0);
  });

  it('finds what it created after a lost answer', async () => {
    table().routes.set(one, { instance: id(1) });
    const routes = await open();
    const found = await routes.create(desired(1), always);
    assert.deepEqual([found.destination, found.providerID], [one, desired(1).providerID]);
    assert.equal(table().routes.size, 1);
  });

  it('rejects with Conflict where another route has the destination, dead or alive', async () => {
    const routes = await open();
    table().routes.set(one, { instance: id(2) });
    await assert.rejects(routes.create(desired(1), always), { kind: 'Conflict' });
    table().routes.set(one, { gateway: 'igw-1' });
    await assert.rejects(routes.create(desired(1), always), { kind: 'Conflict' });
    table().routes.set(one, { instance: id(1) });
    ec2.instances.set(id(1), running(id(1), { state: 'stopped' }));
    await assert.rejects(routes.create(desired(1), always), { kind: 'Conflict' });
    assert.ok(!sent().includes('DeleteRoute'));
  });

  it('shows a route of a stopped instance as a blackhole with it, of a terminated one without', async () => {
    for (const n of [1, 2, 3]) table().routes.set(`10.244.${n}.0/24`, { instance: id(n) });
    ec2.instances.set(id(2), running(id(2), { state: 'stopped' }));
    ec2.instances.set(id(3), running(id(3), { state: 'terminated' }));
    const { routes } = await (await open()).observe(cluster);
    assert.deepEqual(
      routes.map(({ destination, providerID, blackhole }) => [destination, providerID, blackhole]),
      [
        ['10.244.1.0/24', desired(1).providerID, false],
        ['10.244.2.0/24', desired(2).providerID, true],
        ['10.244.3.0/24', undefined, true],
      ],
    );
  });

  it('shows foreign routes as such, and removes none', async () => {
    table().routes.set('0.0.0.0/0', { gateway: 'igw-1' });
    table().routes.set('10.0.0.0/16', { gateway: 'local' });
    const routes = await open();
    const { routes: seen, quota } = await routes.observe(cluster);
    assert.deepEqual(
      seen.map(({ destination, providerID, ours }) => [destination, providerID, ours]),
      [
        ['0.0.0.0/0', undefined, undefined],
        ['10.0.0.0/16', undefined, undefined],
      ],
    );
    assert.equal(quota, undefined);
    assert.equal(routes.tagged, false);
  });

  it('keeps a route that has taken the place of the one to delete', async () => {
    table().routes.set(one, { instance: id(1) });
    const routes = await open();
    const [seen] = (await routes.observe(cluster)).routes;
    table().routes.set(one, { gateway: 'igw-1' });
    await assert.rejects(routes.remove(seen!, always), { kind: 'Conflict' });
    assert.equal(table().routes.size, 1);
    table().routes.delete(one);
    await routes.remove(seen!, always);
    assert.ok(!sent().includes('DeleteRoute'));
  });

  it('removes many at once with one read of the table', async () => {
    for (const n of [1, 2, 3]) table().routes.set(`10.244.${n}.0/24`, { instance: id(n) });
    const routes = await open();
    const { routes: seen } = await routes.observe(cluster);
    ec2.calls.length = 0;
    await Promise.all(seen.map((route) => routes.remove(route, always)));
    assert.ok(sent().length <= 4, sent().join());
    assert.equal(table().routes.size, 0);
  });

  it('counts a route that is gone already as deleted', async () => {
    table().routes.set(one, { instance: id(1) });
    const routes = await open();
    const [seen] = (await routes.observe(cluster)).routes;
    ec2.fault = ({ action }, response) =>
      action === 'DeleteRoute' ? answerError(response, 400, 'InvalidRoute.NotFound', 'no route') : undefined;
    ec2.calls.length = 0;
    await assert.doesNotReject(routes.remove(seen!, always));
    assert.ok(sent().includes('DeleteRoute'));
  });

  it('says QuotaExceeded for a full table', async () => {
    ec2.routeLimit = 1;
    const routes = await open();
    await routes.create(desired(1), always);
    await assert.rejects(routes.create(desired(2), always), { kind: 'QuotaExceeded' });
  });

  it('says NotFound for an instance that EC2 does not show yet, without a call', async () => {
    const routes = await open();
    ec2.fault = ({ action }, response) =>
      action === 'DescribeInstances' ? answerXml(response, 200, '<DescribeInstancesResponse/>') : undefined;
    await assert.rejects(routes.create(desired(1), always), { kind: 'NotFound' });
    assert.ok(!sent().includes('CreateRoute') && !sent().includes('ModifyInstanceAttribute'));
    ec2.fault = undefined;
    await routes.create(desired(1), always);
  });

  it('asks for a permit before each of its changes', async () => {
    const routes = await open();
    let left = 1;
    const permit = () => {
      if (left === 0) throw new WithheldError('Fenced', 'not now');
      left -= 1;
    };
    await assert.rejects(routes.create(desired(1), { permit }), { name: 'WithheldError' });
    assert.ok(sent().includes('ModifyInstanceAttribute') && !sent().includes('CreateRoute'));
    left = 1;
    await routes.create(desired(1), { permit });
    assert.equal(left, 0);
  });

  it('names no table or several tables with the tag in an error', async () => {
    const routes = await open();
    ec2.tables.set('rtb-3', { id: 'rtb-3', tags: { 'kubernetes.io/cluster/one': 'owned' }, routes: new Map() });
    await assert.rejects(
      routes.observe(cluster),
      /tagged for cluster one: rtb-1, rtb-3; expected exactly one; RouteTableID/,
    );
    ec2.tables.clear();
    await assert.rejects(routes.observe(cluster), /tagged for cluster one: none;/);
  });

  it('takes the table of the configuration, whatever its tags', async () => {
    const routes = await open(['RouteTableID = rtb-2']);
    await routes.create(desired(1), always);
    assert.deepEqual([...ec2.tables.get('rtb-2')!.routes.keys()], [one]);
    assert.equal(table().routes.size, 0);
    const wrong = await open(['RouteTableID = rtb-9']);
    await assert.rejects(wrong.observe(cluster), { kind: 'NotFound' });
  });

  it('finds a table that was created again', async () => {
    const routes = await open();
    await routes.observe(cluster);
    ec2.tables.delete('rtb-1');
    ec2.tables.set('rtb-4', { id: 'rtb-4', tags: { 'kubernetes.io/cluster/one': 'owned' }, routes: new Map() });
    await assert.rejects(routes.create(desired(1), always), { kind: 'NotFound' });
    await routes.create(desired(1), always);
    assert.deepEqual([...ec2.tables.get('rtb-4')!.routes.keys()], [one]);
  });

  it('refuses a provider id or a range that is none', async () => {
    const routes = await open();
    await assert.rejects(routes.create({ ...desired(1), providerID: 'gce://x/y/z' }, always), { kind: 'Invalid' });
    await assert.rejects(routes.create(desired(1, 'pods'), always), { kind: 'Invalid' });
    assert.deepEqual(ec2.calls, []);
  });
});

describe('normalCidr', () => {
  it('writes one range in one way', () => {
    assert.equal(normalCidr('10.1.2.3/16'), '10.1.0.0/16');
    assert.equal(normalCidr('2001:0DB8:0:0::1/64'), '2001:db8::/64');
    assert.equal(normalCidr('pl-123'), undefined);
    assert.equal(normalCidr(''), undefined);
  });
});
