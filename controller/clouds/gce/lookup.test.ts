import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { silentLog } from '../../../common/process/log.ts';
import { seededRandom } from '../../../common/process/random.ts';
import { advanceDuring, fakeClock } from '../../../common/testing/fake-clock.ts';
import { configFor, keyFile } from '../../../test/clouds/gce/fake/configuration.ts';
import { refusal } from '../../../test/clouds/gce/fake/fake-api.ts';
import { createFakeGce, type FakeGce } from '../../../test/clouds/gce/fake/fake-gce.ts';
import { type CloudContext, type InstanceRef, identified, refKey } from '../cloud.ts';
import { readConfig } from './config.ts';
import { cloudModule, openGce } from './index.ts';

const origin = 'http://gce.test';
const byId = (name: string, zone = 'us-central1-a'): InstanceRef => ({
  by: 'providerID',
  providerID: `gce://proj/${zone}/${name}`,
});
const byName = (name: string): InstanceRef => ({ by: 'name', name });

interface Options {
  readonly conf?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly onLog?: (line: string) => void;
}

async function open(fake: FakeGce, clock: ReturnType<typeof fakeClock>, { conf, env }: Options) {
  const context: CloudContext = {
    clock,
    random: seededRandom(1),
    log: silentLog,
    onCall: () => {},
    env: env ?? { GOOGLE_APPLICATION_CREDENTIALS: '/key.json' },
  };
  const config = readConfig({ path: 'gce.conf', text: conf ?? configFor(origin) });
  return openGce({ config, context, readText: async () => keyFile(fake, origin), wrapHttp: () => fake.http });
}

async function setUp(options: Options = {}) {
  const clock = fakeClock();
  const fake = createFakeGce(clock);
  const during = <T>(work: Promise<T>) => advanceDuring(clock, work);
  const opened = await open(fake, clock, options);
  assert.ok(!('reportOnly' in opened));
  const cloud = await during(identified(opened));
  fake.calls.length = 0;
  const lookup = async (...refs: InstanceRef[]) => {
    const found = await during(cloud.instances.lookup(refs));
    return refs.map((ref) => found.get(refKey(ref))!);
  };
  const states = async (...refs: InstanceRef[]) =>
    (await lookup(...refs)).map((one) => (one.state === 'unknown' ? one.error.kind : one.state));
  const paths = () => fake.calls.map(({ path }) => path.replace('/compute/v1/projects/proj/', ''));
  return { clock, fake, cloud, lookup, states, paths, during };
}

describe('VMs', () => {
  it('shows every interface, the internal DNS name, zone, region and type of a VM', async () => {
    const { fake, lookup } = await setUp();
    const { id } = fake.addVm('n', {
      in: 'europe-west1-d',
      labels: { team: 'data' },
      networkInterfaces: [
        {
          networkIP: '10.0.0.2',
          accessConfigs: [{ natIP: '203.0.113.1' }, { natIP: '' }, {}],
          aliasIpRanges: [{ ipCidrRange: '10.4.0.0/24' }],
          ipv6AccessType: 'INTERNAL',
          ipv6Address: 'fd20:0:0:1:0:0:0:0',
        },
        {
          networkIP: '10.1.0.2',
          ipv6AccessType: 'EXTERNAL',
          ipv6AccessConfigs: [{ externalIpv6: '2600:1900:0:0:0:0:0:1' }],
        },
      ],
    });
    const [found] = await lookup(byId('n', 'europe-west1-d'));
    assert.ok(found?.state === 'found');
    assert.deepEqual(found.instance, {
      cloud: 'gce',
      id: 'proj/europe-west1-d/n',
      name: 'n',
      incarnation: id,
      providerID: 'gce://proj/europe-west1-d/n',
      zone: 'europe-west1-d',
      region: 'europe-west1',
      type: 'e2-standard-4',
      addresses: [
        { type: 'InternalIP', address: '10.0.0.2' },
        { type: 'ExternalIP', address: '203.0.113.1' },
        { type: 'InternalIP', address: '10.1.0.2' },
        { type: 'InternalDNS', address: 'n.europe-west1-d.c.proj.internal' },
        { type: 'Hostname', address: 'n.europe-west1-d.c.proj.internal' },
        { type: 'InternalIP', address: 'fd20:0:0:1::' },
        { type: 'InternalIP', address: '2600:1900::1' },
      ],
      tags: { team: 'data' },
      // Of the first interface.
      podRanges: ['10.4.0.0/24', 'fd20:0:0:1::/112'],
      maintenance: [],
    });
  });

  it('show maintenance that is planned for them', async () => {
    const { fake, lookup } = await setUp();
    const [start, end] = ['2026-05-21T16:30:00.000-07:00', '2026-05-21T20:30:00.000-07:00'];
    const window = { windowStartTime: start, windowEndTime: end, canReschedule: true };
    const upcomingMaintenance = { type: 'SCHEDULED', maintenanceStatus: 'PENDING', ...window };
    fake.addVm('n', { resourceStatus: { upcomingMaintenance } });
    const [found] = await lookup(byId('n'));
    assert.ok(found?.state === 'found');
    assert.deepEqual(found.instance.maintenance, [{ deadline: start, message: `SCHEDULED, PENDING, until ${end}` }]);
  });

  it('shows no pod range of a VM without an alias range', async () => {
    const { fake, lookup } = await setUp();
    fake.addVm('n');
    const [found] = await lookup(byId('n'));
    assert.ok(found?.state === 'found');
    assert.deepEqual(found.instance.podRanges, []);
  });

  it('show IPv6 addresses first where stack-type is IPV6', async () => {
    const { fake, lookup } = await setUp({ conf: configFor(origin, 'stack-type = IPV6') });
    fake.addVm('n', { networkInterfaces: [{ networkIP: '10.0.0.2', ipv6Address: 'fd20::1' }] });
    const [found] = await lookup(byId('n'));
    assert.ok(found?.state === 'found');
    assert.deepEqual(
      found.instance.addresses.slice(0, 2).map(({ address }) => address),
      ['fd20::1', '10.0.0.2'],
    );
  });

  for (const [what, more, hostname] of [
    ['that sets its own', { hostname: 'web.example.com' }, 'web.example.com'],
    ['in the project', { resourceStatus: dns('GlobalDefault') }, 'n.c.proj.internal'],
    ['in the zone', { resourceStatus: dns('ZonalOnly') }, 'n.us-central1-a.c.proj.internal'],
  ] as const)
    it(`shows the DNS name of a VM ${what}`, async () => {
      const { fake, lookup } = await setUp();
      fake.addVm('n', more);
      const [found] = await lookup(byId('n'));
      assert.ok(found?.state === 'found');
      assert.equal(found.instance.addresses.find(({ type }) => type === 'InternalDNS')?.address, hostname);
    });

  for (const [status, power] of [
    ['RUNNING', 'running'],
    ['PROVISIONING', 'changing'],
    ['STAGING', 'changing'],
    ['REPAIRING', 'changing'],
    ['PENDING_STOP', 'changing'],
    ['STOPPING', 'changing'],
    ['SUSPENDING', 'changing'],
    ['DEPROVISIONING', 'changing'],
    ['SUSPENDED', 'suspended'],
    ['STOPPED', 'stopped'],
    ['TERMINATED', 'stopped'],
    ['SOMETHING_NEW', 'changing'],
  ] as const)
    it(`shows a VM that is ${status} as ${power}`, async () => {
      const { fake, lookup } = await setUp();
      fake.addVm('n', { status });
      const [found] = await lookup(byId('n'));
      assert.equal(found?.state === 'found' && found.power, power);
    });

  it('shows another incarnation of a VM that is created again under one name', async () => {
    const { fake, lookup } = await setUp();
    const incarnation = async () => {
      const [found] = await lookup(byId('n'));
      assert.ok(found?.state === 'found');
      return found.instance.incarnation;
    };
    fake.addVm('n');
    const before = await incarnation();
    fake.deleteVm('us-central1-a', 'n');
    fake.addVm('n');
    assert.notEqual(await incarnation(), before);
  });

  it('asks for up to five VMs one by one, and lists more, in their zone or over all zones', async () => {
    const { fake, states, paths } = await setUp();
    const names = ['a', 'b', 'c', 'd', 'e', 'f'];
    for (const name of names) fake.addVm(name);
    fake.addVm('far', { in: 'europe-west1-d' });
    const all = names.map((name) => byId(name));
    const run = async (...refs: InstanceRef[]) => {
      fake.calls.length = 0;
      assert.ok((await states(...refs)).every((state) => state === 'found'));
      return paths();
    };
    assert.deepEqual(
      await run(...all.slice(0, 5)),
      ['a', 'b', 'c', 'd', 'e'].map((n) => `zones/us-central1-a/instances/${n}`),
    );
    assert.deepEqual(await run(...all), ['zones/us-central1-a/instances']);
    assert.deepEqual(await run(...all, byId('far', 'europe-west1-d')), ['aggregated/instances']);
  });

  it('takes a VM that a list lacks for absent only by its own request, also while lists lag', async () => {
    const { clock, fake, states } = await setUp();
    const names = ['a', 'b', 'c', 'd', 'e', 'f'];
    for (const name of names) fake.addVm(name);
    await clock.advance(60_000);
    fake.lagMs = 30_000;
    fake.addVm('new');
    fake.deleteVm('us-central1-a', 'a');
    const refs = [...names.slice(1), 'new', 'never'].map((name) => byId(name));
    assert.deepEqual(await states(...refs), [...Array(6).fill('found'), 'absent']);
  });

  it('answers unknown for VMs of a zone that was not reached, and finds those of the others', async () => {
    const { fake, states, paths } = await setUp();
    for (const name of ['a', 'b', 'c', 'd', 'e']) fake.addVm(name);
    fake.addVm('far', { in: 'europe-west1-d' });
    fake.unreachable.add('europe-west1-d');
    const refs = [...'abcde'].map((name) => byId(name));
    const far = [byId('far', 'europe-west1-d'), byId('never', 'europe-west1-d')];
    assert.deepEqual(await states(...refs, ...far, byId('never')), [
      ...Array(5).fill('found'),
      'Unavailable',
      'Unavailable',
      'absent',
    ]);
    assert.equal(paths().filter((path) => path.includes('europe')).length, 0, 'no proof is tried there');
  });

  for (const [what, answer] of [
    ["a proxy's 404", { status: 404, body: '<html>' }],
    ['a 404 about the project', refusal(404, 'notFound', "The resource 'projects/proj' was not found")],
    [
      'a 404 about the zone',
      refusal(404, 'notFound', "The resource 'projects/proj/zones/us-central1-a' was not found"),
    ],
    [
      'a 404 about another VM',
      refusal(404, 'notFound', "The resource 'projects/proj/zones/us-central1-a/instances/other' was not found"),
    ],
    ['403', refusal(403, 'forbidden', "Required 'compute.instances.get' permission")],
    ['an unknown zone', refusal(400, 'invalid', "Invalid value for field 'zone'. Unknown zone.")],
  ] as const)
    it(`answers unknown, not absent, after ${what}`, async () => {
      const { fake, lookup } = await setUp();
      fake.fault = ({ path }) => (path.includes('/instances') ? answer : undefined);
      const [one] = await lookup(byId('n'));
      assert.equal(one?.state, 'unknown');
    });

  it('looks for the first label of a host name, in the zones that the configuration names', async () => {
    for (const [more, expected] of [
      ['', 'Conflict'],
      ['local-zone = us-central1-b', 'found'],
      ['local-zone = us-central1-b\nmultizone = true', 'Conflict'],
      ['local-zone = europe-west1-d\nregional = true', 'NotFound'],
    ] as const) {
      const { fake, states } = await setUp({ conf: configFor(origin, more) });
      for (const zone of ['us-central1-a', 'us-central1-b']) fake.addVm('twin', { in: zone });
      assert.deepEqual(
        await states(byName('twin.c.proj.internal'), byName('Not A Name')),
        [expected, 'NotFound'],
        more,
      );
    }
  });

  it('finds VMs by name also where a server applies no filter', async () => {
    const { fake, states } = await setUp();
    for (const name of ['a', 'b']) fake.addVm(name);
    const { answer } = fake;
    fake.answer = (call) => {
      call.query.delete('filter');
      return answer(call);
    };
    assert.deepEqual(await states(byName('a'), byName('b'), byName('c')), ['found', 'found', 'NotFound']);
  });

  it('answers unknown for a name while a zone where it may be is not reached', async () => {
    const { fake, states } = await setUp();
    fake.addVm('n');
    fake.unreachable.add('us-central1-b');
    assert.deepEqual(await states(byName('n'), byName('none')), ['found', 'Unavailable']);
  });

  it('lists VMs of node-instance-prefix alone where it is set, and still finds others', async () => {
    const { fake, states, paths } = await setUp({ conf: configFor(origin, 'node-instance-prefix = k8s-') });
    const names = ['k8s-a', 'k8s-b', 'k8s-c', 'k8s-d', 'k8s-e', 'other'];
    for (const name of names) fake.addVm(name);
    assert.deepEqual(await states(...names.map((name) => byId(name))), Array(6).fill('found'));
    assert.deepEqual(paths(), ['zones/us-central1-a/instances', 'zones/us-central1-a/instances/other']);
    assert.equal(fake.calls[0]!.query.get('filter'), 'name eq k8s-.*');
  });

  it('finds many VMs by name, whatever node-instance-prefix says', async () => {
    const { fake, states } = await setUp({ conf: configFor(origin, 'node-instance-prefix = k8s-') });
    const names = ['k8s-a', 'b', 'c', 'd', 'e'];
    for (const name of names) fake.addVm(name);
    assert.deepEqual(await states(...names.map(byName)), Array(5).fill('found'));
  });

  it('finds more VMs by id than are proved in one pass, whatever node-instance-prefix says', async () => {
    const { fake, states } = await setUp({ conf: configFor(origin, 'node-instance-prefix = k8s-') });
    const names = Array.from({ length: 25 }, (_, at) => `n${at}`);
    for (const name of names) fake.addVm(name);
    assert.deepEqual(await states(...names.map((name) => byId(name))), Array(25).fill('found'));
  });

  it('finds all VMs where a list has others without a name or zone', async () => {
    const { fake, states } = await setUp();
    for (const name of 'abcdef') fake.addVm(name);
    const { answer } = fake;
    fake.answer = async (call) => {
      const { status, body } = await answer(call);
      if (call.path.endsWith('/instances')) (body as { items: object[] }).items.push({ name: 'g' }, { zone: 'z' });
      return { status, body };
    };
    assert.deepEqual(await states(...[...'abcdef'].map((name) => byId(name))), Array(6).fill('found'));
  });

  it('answers Invalid for a VM that cannot be read, and finds the others', async () => {
    const { fake, states } = await setUp();
    for (const name of 'abcde') fake.addVm(name);
    fake.addVm('f', { networkInterfaces: [{ networkIP: '10.0.0' }] });
    assert.deepEqual(await states(...[...'abcdef'].map((name) => byId(name))), [...Array(5).fill('found'), 'Invalid']);
  });

  it('refuses ids of other projects, and what would change the path of a request', async () => {
    const { states, paths } = await setUp();
    const bad = [
      'gce://other/us-central1-a/n',
      'gce://proj/../n',
      'gce://proj/us-central1-a/n?x=1',
      'gce://proj/z%2F/n',
    ];
    const refs = bad.map((providerID) => ({ by: 'providerID', providerID }) as const);
    assert.deepEqual(await states(...refs), Array(4).fill('Invalid'));
    assert.deepEqual(paths(), []);
  });
});

describe('the cloud', () => {
  it('opens for the project whose number or id is configured', async () => {
    for (const project of ['proj', '881234567890']) {
      const { cloud } = await setUp({ conf: configFor(origin).replace('= proj', `= ${project}`) });
      assert.deepEqual([cloud.scope, cloud.account], ['gce.test/proj', 'proj']);
    }
  });

  it("takes the key's project where GOOGLE_CLOUD_PROJECT is empty", async () => {
    const conf = configFor(origin).replace('project-id = proj', '');
    const env = { GOOGLE_APPLICATION_CREDENTIALS: '/key.json', GOOGLE_CLOUD_PROJECT: '' };
    assert.equal((await setUp({ conf, env })).cloud.account, 'proj');
  });

  it("takes the key's project where none is configured, and the VM's with its service account", async () => {
    const conf = configFor(origin).replace('project-id = proj', '');
    assert.equal((await setUp({ conf })).cloud.account, 'proj');
    const clock = fakeClock();
    const fake = createFakeGce(clock);
    fake.identity.metadata.set('project/project-id', 'proj');
    fake.identity.metadata.set('instance/service-accounts/default/token', 'token');
    const opened = await open(fake, clock, { conf, env: {} });
    assert.ok(!('reportOnly' in opened));
    assert.equal((await advanceDuring(clock, opened.identify())).account, 'proj');
  });

  it('opens report-only without a credential, to be tried again later', async () => {
    const clock = fakeClock();
    const opened = await open(createFakeGce(clock), clock, { env: { GCE_METADATA_HOST: 'nothing.test' } });
    assert.ok('reportOnly' in opened && opened.retryable);
    assert.equal(cloudModule.name, 'gce');
  });

  it('reads another token when one is refused, without a restart', async () => {
    const { clock, fake, cloud, states } = await setUp();
    fake.addVm('n');
    await clock.advance(60_000);
    fake.identity.tokens.clear();
    assert.deepEqual(await states(byId('n')), ['Unauthorized']);
    assert.deepEqual(await states(byId('n')), ['found']);
    assert.deepEqual(cloud.files, ['/key.json']);
  });

  it('checks each permission, and names those that are missing', async () => {
    const { fake, cloud, during } = await setUp();
    const failed = async () => (await during(cloud.check())).filter(({ ok }) => !ok);
    assert.deepEqual(await failed(), []);
    fake.denied.add('compute.instances.list').add('compute.routes.create').add('compute.networks.updatePolicy');
    fake.denied.add('compute.targetPools.use');
    assert.deepEqual(
      (await failed()).map(({ name, message, neededFor }) => [name, message.split(';')[0], neededFor]),
      [
        ['permissions for nodes', 'missing in project proj: compute.instances.list', ['nodes']],
        [
          'permissions for routes',
          'missing in project proj: compute.routes.create, compute.networks.updatePolicy',
          ['routes'],
        ],
        [
          'permissions for load balancers',
          'missing in project proj: compute.targetPools.use, compute.networks.updatePolicy',
          ['load balancers'],
        ],
      ],
    );
  });

  it('checks the permissions for routes in a Shared VPC, and the one on the VMs in their own project', async () => {
    const { fake, cloud, during } = await setUp({ conf: configFor(origin, 'network-project-id = host') });
    const tested = new Map<string, readonly string[]>();
    fake.fault = ({ path, text }) => {
      const [, project] = /projects\/(\w+):testIamPermissions$/.exec(path) ?? [];
      if (project === undefined) return undefined;
      const { permissions } = JSON.parse(text);
      tested.set(project, [...(tested.get(project) ?? []), ...permissions]);
      return { status: 200, body: { permissions: project === 'host' ? permissions : [] } };
    };
    const [, , routes] = await during(cloud.check());
    assert.match(routes!.message, /^missing in project proj: compute\.instances\.use;/);
    assert.ok(tested.get('host')!.includes('compute.routes.create'));
    assert.ok(!tested.get('host')!.includes('compute.instances.use'));
    assert.ok(!tested.get('proj')!.includes('compute.routes.create'));
    assert.ok(tested.get('host')!.includes('compute.networks.use'));
    assert.ok(tested.get('proj')!.includes('compute.forwardingRules.create'));
    // Firewall rules there are left to others.
    assert.ok(![...tested.values()].flat().some((name) => name.startsWith('compute.firewalls.')));
  });

  it('checks without an exception where nothing is reached, and shows no token', async () => {
    const { fake, cloud, during } = await setUp();
    fake.fault = () => ({ status: 403, body: '{"error": {"message": "no"}}' });
    const results = await during(cloud.check());
    assert.ok(results.every(({ ok }) => !ok));
    assert.doesNotMatch(JSON.stringify(results), /ya29|PRIVATE KEY/);
  });

  it('pings by one read', async () => {
    const { fake, cloud, during } = await setUp();
    await during(cloud.ping!());
    assert.equal(fake.calls.length, 1);
    fake.fault = () => refusal(403, 'forbidden', 'no');
    await assert.rejects(during(cloud.ping!()), { kind: 'Forbidden' });
  });
});

function dns(vmDnsSettingMetadataValue: string) {
  return { effectiveInstanceMetadata: { vmDnsSettingMetadataValue } };
}
