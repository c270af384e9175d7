import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import {
  CreateVolumeCommand,
  DescribeAvailabilityZonesCommand,
  DescribeImagesCommand,
  DescribeRouteTablesCommand,
  EC2Client,
  RunInstancesCommand,
  StartInstancesCommand,
  StopInstancesCommand,
  TerminateInstancesCommand,
} from '@aws-sdk/client-ec2';
import { systemClock } from '../../../common/process/clock.ts';
import { silentLog } from '../../../common/process/log.ts';
import { cloudModule } from '../../../controller/clouds/aws/index.ts';
import type { CloudCall, InstanceRef, Lookup, OpenedCloud } from '../../../controller/clouds/cloud.ts';
import { volumeKey } from '../../../controller/clouds/volumes.ts';

const url = process.env['MOTO_URL'];
const region = 'eu-west-1';
const credentials = { accessKeyId: 'testing', secretAccessKey: 'testing' };
const ref = (id: string): InstanceRef => ({ by: 'providerID', providerID: `aws:///${region}a/${id}` });
const absentId = 'i-0123456789abcdef0';

describe('AWS against moto', () => {
  let ec2: EC2Client;
  let cloud: OpenedCloud;
  let calls: CloudCall[] = [];
  let ids: string[] = [];

  async function open(text?: string): Promise<OpenedCloud> {
    const opened = await cloudModule.open(text === undefined ? undefined : { path: 'aws.conf', text }, {
      clock: systemClock(),
      random: Math.random,
      log: silentLog,
      env: {
        AWS_ACCESS_KEY_ID: credentials.accessKeyId,
        AWS_SECRET_ACCESS_KEY: credentials.secretAccessKey,
        AWS_REGION: region,
        AWS_ENDPOINT_URL: url,
      },
      onCall: (call) => calls.push(call),
    });
    assert.ok('identify' in opened, JSON.stringify(opened));
    return opened;
  }

  before(async () => {
    assert.ok(url, 'MOTO_URL');
    ec2 = new EC2Client({ region, endpoint: url, credentials });
    const { Images } = await ec2.send(new DescribeImagesCommand({ Owners: ['amazon'] }));
    const image = Images?.find(({ Architecture }) => Architecture === 'x86_64')?.ImageId;
    const { Instances } = await ec2.send(
      new RunInstancesCommand({
        ImageId: image,
        MinCount: 210,
        MaxCount: 210,
        InstanceType: 'm5.large',
        Placement: { AvailabilityZone: `${region}b` },
      }),
    );
    ids = (Instances ?? []).map(({ InstanceId }) => InstanceId!);
    cloud = await open();
  });
  after(() => {
    cloud?.close();
    ec2?.destroy();
  });

  const one = async (id: string, canaries: readonly InstanceRef[] = []): Promise<Lookup> => {
    const wanted = ref(id);
    assert.ok(wanted.by === 'providerID');
    const lookups = await cloud.instances.lookup([wanted], { canaries });
    return lookups.get(wanted.providerID)!;
  };

  it('finds the zones of volumes in one call, and one that does not exist is absent', async () => {
    const zones = ['a', 'b'].map((letter) => region + letter);
    const made = zones.map((AvailabilityZone) => ec2.send(new CreateVolumeCommand({ AvailabilityZone, Size: 1 })));
    const handles = (await Promise.all(made)).map(({ VolumeId }) => VolumeId!);
    calls = [];
    const refs = [...handles, 'vol-0123456789abcdef0'].map((handle) => {
      return { source: 'ebs.csi.aws.com', handle, zones: [] };
    });
    const lookups = await cloud.volumes!.lookup(refs);
    assert.deepEqual(
      refs.map((one) => lookups.get(volumeKey(one))),
      [...zones.map((zone) => ({ state: 'found', place: { zones: [zone], region } })), { state: 'absent' }],
    );
    assert.deepEqual(
      calls.map(({ operation, code }) => `${operation} ${code}`),
      ['DescribeVolumes ok'],
    );
  });

  it('finds 210 instances in two calls, with the facts of their Nodes', async () => {
    const { AvailabilityZones } = await ec2.send(new DescribeAvailabilityZonesCommand({}));
    const zoneId = AvailabilityZones?.find(({ ZoneName }) => ZoneName === `${region}b`)?.ZoneId;
    assert.match(String(zoneId), /^euw1-az\d$/);
    calls = [];
    const lookups = await cloud.instances.lookup(ids.map(ref));
    assert.equal(lookups.size, 210);
    for (const lookup of lookups.values()) {
      assert.ok(lookup.state === 'found', JSON.stringify(lookup));
      assert.equal(lookup.power, 'running');
      const { instance } = lookup;
      assert.equal(instance.zone, `${region}b`);
      assert.equal(instance.type, 'm5.large');
      assert.equal(instance.providerID, `aws:///${region}b/${instance.id}`);
      assert.equal(instance.labels?.['topology.k8s.aws/zone-id'], zoneId);
      assert.deepEqual(
        instance.addresses.map(({ type }) => type),
        ['InternalIP', 'ExternalIP', 'InternalDNS', 'Hostname', 'ExternalDNS'],
      );
    }
    assert.equal(calls.filter(({ operation }) => operation === 'DescribeInstances').length, 2);
  });

  it('finds nodes by private DNS name and by a name that is an id', async () => {
    const first = await one(ids[0]!);
    assert.ok(first.state === 'found');
    const name = first.instance.name!;
    const lookups = await cloud.instances.lookup([
      { by: 'name', name },
      { by: 'name', name: `${ids[1]}.ec2.internal` },
      { by: 'name', name: 'nobody.ec2.internal' },
    ]);
    const [byDns, byId, missing] = [...lookups.values()];
    assert.ok(byDns?.state === 'found' && byDns.instance.id === ids[0]);
    assert.ok(byId?.state === 'found' && byId.instance.id === ids[1]);
    assert.ok(missing?.state === 'unknown' && missing.error.kind === 'NotFound');
  });

  it('follows an instance that stops and starts again', async () => {
    const id = ids[2]!;
    await ec2.send(new StopInstancesCommand({ InstanceIds: [id] }));
    const stopped = await one(id);
    assert.ok(stopped.state === 'found' && stopped.power === 'stopped');
    await ec2.send(new StartInstancesCommand({ InstanceIds: [id] }));
    const started = await one(id);
    assert.ok(started.state === 'found' && started.power === 'running');
  });

  it('shows a terminated instance as gone', async () => {
    const id = ids[3]!;
    await ec2.send(new TerminateInstancesCommand({ InstanceIds: [id] }));
    assert.deepEqual(await one(id), { state: 'gone', terminalState: 'terminated', incarnation: id });
  });

  it('proves an unknown id absent, with a canary from the same kind of request, and fails no other', async () => {
    const other = 'i-0fedcba9876543210';
    const lookups = await cloud.instances.lookup([ref(absentId), ref(ids[4]!), ref(other)], {
      canaries: [ref(ids[5]!)],
    });
    const [absent, present, alsoAbsent, canary] = [...lookups.values()];
    assert.deepEqual([absent, alsoAbsent], [{ state: 'absent' }, { state: 'absent' }]);
    assert.ok(present?.state === 'found');
    assert.ok(canary?.state === 'found' && canary.request === 'id');
  });

  it('proves every id absent in another region, and the canary too', async () => {
    const elsewhere = await open('[Global]\nRegion = us-east-1\n');
    const refs = ids.slice(4, 6).map((id): InstanceRef => ({ by: 'providerID', providerID: `aws:////${id}` }));
    const lookups = await elsewhere.instances.lookup(refs.slice(0, 1), { canaries: refs.slice(1) });
    assert.deepEqual(
      [...lookups.values()].map(({ state }) => state),
      ['absent', 'absent'],
    );
    elsewhere.close();
  });

  it('works with credentials of an assumed role', async () => {
    const assumed = await open(`[Global]\nRegion = ${region}\nRoleARN = arn:aws:iam::123456789012:role/ccm\n`);
    const lookups = await assumed.instances.lookup([ref(ids[4]!)]);
    assert.deepEqual(
      [...lookups.values()].map(({ state }) => state),
      ['found'],
    );
    assumed.close();
  });

  it('proves region, credential, cluster and permissions by check, except what moto and its account lack', async () => {
    const named = await open(`[Global]\nRegion = ${region}\nKubernetesClusterID = one\n`);
    const results = await named.check();
    named.close();
    assert.deepEqual(results.flatMap(({ name, ok }) => (ok === false ? [name] : [])).sort(), [
      'ec2:DescribeInstanceTopology',
      'route table',
    ]);
    assert.match(results[1]?.message ?? '', /^arn:aws:.*from the environment$/);
    const { RouteTables = [] } = await ec2.send(new DescribeRouteTablesCommand({}));
    assert.ok(RouteTables.every(({ Routes = [] }) => Routes.every(({ Origin }) => Origin === 'CreateRouteTable')));
  });

  it('answers unknown for everything when no server listens', async () => {
    const dead = await open(
      `[ServiceOverride "1"]\nService=EC2\nRegion=${region}\nURL=http://127.0.0.1:9\nSigningRegion=${region}\n`,
    );
    const [lookup] = [...(await dead.instances.lookup([ref(absentId)])).values()];
    assert.ok(lookup?.state === 'unknown' && lookup.error.kind === 'Unavailable');
    dead.close();
  });
});
