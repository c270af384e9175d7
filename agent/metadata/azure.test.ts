import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { failureOf } from '../../common/testing/cloud-failure.ts';
import { fakeClock } from '../../common/testing/fake-clock.ts';
import type { FakeAnswer, SeenRequest } from '../testing/fake-metadata.ts';
import { hurried, never, openBeside, testFaults } from '../testing/source-suite.ts';
import { azure } from './azure.ts';
import { azureNotices } from './azure-notices.ts';

const fixture = (name: string) => readFile(new URL(`fixtures/azure/${name}.json`, import.meta.url), 'utf8');
const text = await fixture('instance');
const balancer = await fixture('loadbalancer');
const compute =
  '/subscriptions/8d10da13-8125-4ba9-a717-bf7490507b3d/resourceGroups/mc_prod_cluster_westeurope' +
  '/providers/Microsoft.Compute';

// biome-ignore lint/suspicious/noExplicitAny: a payload with any fault
function payload(change: (document: any) => void): string {
  const document = JSON.parse(text);
  change(document);
  return JSON.stringify(document);
}

interface Service {
  readonly instance?: string;
  readonly balancer?: FakeAnswer;
  readonly versions?: readonly string[];
  readonly events?: FakeAnswer;
}

/** IMDS: the header and a version it knows, or 400. */
function imds({
  instance = text,
  balancer: balanced = balancer,
  versions = ['2019-06-01', '2020-10-01', '2021-12-13'],
  events,
}: Service = {}) {
  return ({ path, headers }: SeenRequest): FakeAnswer => {
    if (headers['metadata'] !== 'true' || headers['x-forwarded-for'] !== undefined) return { status: 400 };
    const url = new URL(path, 'http://imds');
    if (url.pathname === '/metadata/versions') return JSON.stringify({ apiVersions: versions });
    if (url.pathname === '/metadata/scheduledevents') return events;
    if (!versions.includes(url.searchParams.get('api-version') ?? ''))
      return { status: 400, body: JSON.stringify({ error: 'Bad request', 'newest-versions': versions }) };
    if (url.pathname === '/metadata/instance') return instance;
    if (url.pathname === '/metadata/attested/document') {
      const nonce = url.searchParams.get('nonce') ?? '';
      if (!/^[A-Za-z0-9]{1,32}$/.test(nonce)) return { status: 400 };
      return JSON.stringify({ encoding: 'pkcs7', signature: `TUlJ${nonce}` });
    }
    return url.pathname === '/metadata/loadbalancer' ? balanced : undefined;
  };
}

test('reads a scale-set VM: resource id, zone, labels, and public addresses of the load balancer', async (context) => {
  const { source, service } = await openBeside(context, azure, imds());
  assert.deepEqual(await source.read(never), {
    cloud: 'azure',
    id: `${compute}/virtualMachineScaleSets/aks-pool1-12345678-vmss/virtualMachines/3`,
    providerID: `azure://${compute}/virtualMachineScaleSets/aks-pool1-12345678-vmss/virtualMachines/3`,
    incarnation: '02aab8a4-74ef-476e-8182-f6d2ba4166a6',
    name: 'aks-pool1-12345678-vmss000003',
    zone: 'westeurope-2',
    region: 'westeurope',
    type: 'Standard_D4s_v5',
    addresses: [
      { type: 'Hostname', address: 'aks-pool1-12345678-vmss000003' },
      { type: 'InternalIP', address: '10.224.0.5' },
      { type: 'ExternalIP', address: '20.61.0.77' },
      { type: 'InternalIP', address: 'fd00:db8:deca:daed::5' },
      { type: 'ExternalIP', address: '2603:1020:206::77' },
    ],
    labels: {
      'topology.kubernetes.azure.com/sub-fault-domain': '1',
      'topology.kubernetes.azure.com/interconnect-group': 'ig-7',
    },
  });
  assert.equal(service.requests.length, 2);
  assert.equal(source.notices, undefined);
});

test('a VM without zones has its fault domain as zone, and may have its own public address', async (context) => {
  const alone = payload((all) => {
    Object.assign(all.compute, {
      name: 'Node-7',
      zone: '',
      platformFaultDomain: '1',
      platformSubFaultDomain: '',
      tagsList: [],
      vmScaleSetName: '',
      resourceId: `${compute}/virtualMachines/Node-7`,
    });
    all.network.interface[0].ipv6.ipAddress = [];
    all.network.interface[0].ipv4.ipAddress[0].publicIpAddress = '198.51.100.7';
  });
  const { source, service } = await openBeside(context, azure, imds({ instance: alone }));
  const instance = await source.read(never);
  assert.equal(instance.providerID, `azure://${compute}/virtualMachines/Node-7`);
  assert.equal(instance.name, 'Node-7');
  assert.equal(instance.zone, '1');
  assert.equal(instance.labels, undefined);
  assert.deepEqual(
    instance.addresses.filter(({ type }) => type === 'ExternalIP'),
    [{ type: 'ExternalIP', address: '198.51.100.7' }],
  );
  assert.equal(service.requests.length, 1);
});

test('a resource group with letters of any script is in the providerID as it is, in lower case', async (context) => {
  const named = payload(({ compute: vm }) => {
    vm.resourceId = vm.resourceId.replace(/resourceGroups\/[^/]+/, 'resourceGroups/Gruppe-Ä_资源');
  });
  const { source } = await openBeside(context, azure, imds({ instance: named }));
  const { providerID } = await source.read(never);
  assert.match(providerID, /^azure:\/\/\/subscriptions\/[0-9a-f-]+\/resourceGroups\/gruppe-ä_资源\/providers\//);
});

test('a tag that is invalid as a label is rewritten or omitted', async (context) => {
  for (const [value, expected] of [
    ['group one/7', 'group-one-7'],
    ['!', undefined],
  ] as const) {
    const tagged = payload(({ compute: vm }) => {
      vm.tagsList = [{ name: 'Platform_Interconnect_Group', value }];
    });
    const { source } = await openBeside(context, azure, imds({ instance: tagged }));
    assert.equal((await source.read(never)).labels?.['topology.kubernetes.azure.com/interconnect-group'], expected);
  }
});

test('a VM without a standard load balancer has no public address, in any form of the answer', async (context) => {
  const answers: readonly FakeAnswer[] = [
    { status: 404 },
    { status: 400 },
    '{"loadbalancer": {"publicIpAddresses": []}}',
  ];
  for (const answer of answers) {
    const { source } = await openBeside(context, azure, imds({ balancer: answer }));
    const { addresses } = await source.read(never);
    assert.deepEqual(
      addresses.filter(({ type }) => type === 'ExternalIP'),
      [],
    );
  }
});

test('an older service is asked which versions it has, once', async (context) => {
  const versions = ['2017-04-02', '2019-03-11', '2019-06-01', '2020-09-01', '2025-04-07'];
  const clock = fakeClock(undefined, 1);
  const { source, service } = await openBeside(context, azure, imds({ versions }), { clock });
  await source.read(never);
  await hurried(clock, source.read(never));
  assert.deepEqual(
    service.requests.map(({ path }) => path.replace('/metadata/', '').replace('&format=json', '')),
    [
      'instance?api-version=2021-12-13',
      'versions',
      'instance?api-version=2020-09-01',
      'loadbalancer?api-version=2020-10-01',
      'instance?api-version=2020-09-01',
      'loadbalancer?api-version=2020-10-01',
    ],
  );
});

test('Azure Stack, which does not list its versions, is asked for the oldest one', async (context) => {
  const answer = imds({ versions: ['2019-06-01'] });
  const { source } = await openBeside(context, azure, (request) =>
    request.path === '/metadata/versions' ? undefined : answer(request),
  );
  assert.equal((await source.read(never)).region, 'westeurope');
});

test('a service that understands no version is an error, and so is one whose versions are too old', async (context) => {
  const refusing = await openBeside(context, azure, ({ path }) =>
    path === '/metadata/versions' ? '{"apiVersions": ["2021-12-13"]}' : { status: 400 },
  );
  assert.match((await failureOf(refusing.source.read(never))).message, /status 400: no version is understood/);
  const old = await openBeside(context, azure, imds({ versions: ['2017-04-02', '2018-10-01'] }));
  assert.match((await failureOf(old.source.read(never))).message, /apiVersions: .*expected one from 2019-03-11/);
});

test('404 and 410 of the instance pass: the VM is being moved', async (context) => {
  for (const status of [404, 410]) {
    const { source } = await openBeside(context, azure, () => ({ status }));
    const error = await failureOf(source.read(never));
    assert.equal(error.kind, 'Unavailable');
    assert.equal(error.retryable, true);
  }
});

test('sends at most five requests in any second', async (context) => {
  const clock = fakeClock(undefined, 1);
  const at: number[] = [];
  const answer = imds();
  const { source } = await openBeside(
    context,
    azure,
    (request) => {
      at.push(clock.monotonic());
      return answer(request);
    },
    { clock },
  );
  for (let reads = 0; reads < 8; reads += 1) await hurried(clock, source.read(never), 50);
  assert.equal(at.length, 16);
  // Sockets are not on the fake clock: a request may arrive two steps of it late.
  for (const [index, moment] of at.entries()) assert.ok(index < 5 || moment - at[index - 5]! >= 1000, `${at}`);
});

const malformed: readonly (readonly [string, string, RegExp])[] = [
  ['a page that is no JSON', '<html>', /not JSON/],
  ['no compute', payload((all) => delete all.compute), /compute: missing, expected an object/],
  ['no network', payload((all) => delete all.network), /network: missing, expected an object/],
  ['no resource id', payload(({ compute: vm }) => delete vm.resourceId), /compute\.resourceId: missing/],
  [
    'the id of another resource',
    payload(({ compute: vm }) => Object.assign(vm, { resourceId: `${compute}/disks/os` })),
    /compute\.resourceId: .*expected a VM's resource id/,
  ],
  ['an empty vmId', payload(({ compute: vm }) => Object.assign(vm, { vmId: '' })), /compute\.vmId: "", expected text/],
  ['no location', payload(({ compute: vm }) => delete vm.location), /compute\.location: missing/],
  [
    'no address',
    payload(({ network }) => Object.assign(network, { interface: [] })),
    /network\.interface\[0\]: missing, expected an interface with an address/,
  ],
  [
    'an address that is none',
    payload(({ network }) => Object.assign(network.interface[0].ipv4.ipAddress[0], { privateIpAddress: 'x' })),
    /network\.interface\[0\]\.ipv4\.ipAddress\[0\]\.privateIpAddress: "x", expected an IP address/,
  ],
];

for (const [name, instance, message] of malformed) {
  test(`${name} is an error that names the field and shows nothing else`, async (context) => {
    const { source } = await openBeside(context, azure, imds({ instance }));
    const error = await failureOf(source.read(never));
    assert.equal(error.kind, 'Invalid');
    assert.match(error.message, message);
    assert.doesNotMatch(error.message, /not-for-anybody/);
  });
}

const event = {
  EventId: '602d9444-d2cd-49c7-8624-8643e7171297',
  EventType: 'Reboot',
  ResourceType: 'VirtualMachine',
  Resources: ['aks-pool1-12345678-vmss_3'],
  EventStatus: 'Scheduled',
  NotBefore: 'Mon, 19 Sep 2026 18:29:47 GMT',
  Description: 'Host server is undergoing maintenance.',
  EventSource: 'Platform',
  DurationInSeconds: 10,
};

test('scheduled events are read only if enabled, without those of other VMs', async (context) => {
  const events = {
    DocumentIncarnation: 3,
    Events: [
      event,
      { ...event, Resources: ['aks-pool1-12345678-vmss_4'], EventType: 'Terminate' },
      {
        ...event,
        Resources: ['AKS-pool1-12345678-vmss_3'],
        EventType: 'Preempt',
        EventStatus: 'Started',
        NotBefore: '',
        Description: '',
      },
      { ...event, EventType: 'Unheard' },
    ],
  };
  const { source, service } = await openBeside(context, azure, imds({ events: JSON.stringify(events) }), {
    scheduledEvents: true,
  });
  assert.deepEqual(await source.notices?.(never), [
    {
      kind: 'maintenance',
      deadline: '2026-09-19T18:29:47.000Z',
      message: 'Reboot: Host server is undergoing maintenance.',
    },
    { kind: 'preemption', message: 'Preempt' },
  ]);
  assert.equal(service.requests.at(-1)?.path, '/metadata/scheduledevents?api-version=2020-07-01');
});

test('no events are no notices; a document that cannot be understood is an error', () => {
  assert.deepEqual(azureNotices({ DocumentIncarnation: 1, Events: [] }, 'a'), []);
  assert.throws(() => azureNotices({ Events: {} }, 'a'), /Events: \{\}, expected a list/);
  assert.throws(
    () => azureNotices({ Events: [{ ...event, Resources: ['a'], NotBefore: 'soon' }] }, 'a'),
    /Events\[0\]\.NotBefore: "soon", expected a moment/,
  );
  for (const [type, kind] of [
    ['Freeze', 'maintenance'],
    ['Redeploy', 'maintenance'],
    ['Terminate', 'termination'],
  ]) {
    assert.equal(azureNotices({ Events: [{ ...event, EventType: type, Resources: ['a'] }] }, 'a')[0]?.kind, kind);
  }
});

testFaults(azure, imds());

test('reads the attested document with the challenge as its nonce', async (context) => {
  const { source } = await openBeside(context, azure, imds());
  const challenge = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';
  assert.deepEqual(await source.evidence?.(challenge, never), {
    cloud: 'azure',
    kind: 'attested-document',
    document: `TUlJ${challenge}`,
  });
});
