import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { failureOf } from '../../common/testing/cloud-failure.ts';
import { fakeClock, settle } from '../../common/testing/fake-clock.ts';
import { type FakeAnswer, hang, type SeenRequest } from '../testing/fake-metadata.ts';
import { never, openBeside, testFaults } from '../testing/source-suite.ts';
import { gce } from './gce.ts';

const text = await readFile(new URL('fixtures/gce.json', import.meta.url), 'utf8');
const tree = '/computeMetadata/v1/';
const everything = `${tree}?recursive=true&alt=json`;

type Change = (document: Document) => void;
// biome-ignore lint/suspicious/noExplicitAny: a payload with any fault
type Document = any;

/** The payload with changes; numbers that JavaScript cannot hold stay as they were written. */
function payload(change: Change = () => {}): string {
  const document = JSON.parse(text.replace(/"id": (\d{17,})/, '"id": "BIG$1"'));
  change(document);
  return JSON.stringify(document).replace(/"BIG(\d+)"/, '$1');
}

/** No answer without Google's header, which stands on the answers too. */
function metadata(document = text, etag = 'e1', attributes: Readonly<Record<string, string>> = {}) {
  return (request: SeenRequest): FakeAnswer => {
    if (request.headers['metadata-flavor'] !== 'Google') return { status: 403 };
    const headers = { 'metadata-flavor': 'Google', etag };
    if (request.path.startsWith(everything)) return { status: 200, headers, body: document };
    const found = attributes[request.path.slice(tree.length)];
    return found === undefined ? { status: 404, headers } : { status: 200, headers, body: found };
  };
}

test('reads everything in one request, the 64-bit id to its last digit', async (context) => {
  const { source, service } = await openBeside(context, gce, metadata());
  assert.deepEqual(await source.read(never), {
    cloud: 'gce',
    id: 'prod-1234/europe-west1-b/node-7',
    providerID: 'gce://prod-1234/europe-west1-b/node-7',
    incarnation: '6128537458206435849',
    name: 'node-7',
    zone: 'europe-west1-b',
    region: 'europe-west1',
    type: 'n2-standard-4',
    addresses: [
      { type: 'InternalIP', address: '10.5.0.9' },
      { type: 'ExternalIP', address: '192.0.2.15' },
      { type: 'InternalIP', address: '10.6.0.3' },
      { type: 'InternalDNS', address: 'node-7.europe-west1-b.c.prod-1234.internal' },
      { type: 'Hostname', address: 'node-7.europe-west1-b.c.prod-1234.internal' },
      { type: 'InternalIP', address: '2600:1900:4000:9a1::' },
    ],
  });
  assert.deepEqual(
    service.requests.map(({ path }) => path),
    [everything],
  );
});

test('refuses an answer without the header, whatever its content', async (context) => {
  const { source } = await openBeside(context, gce, () => ({ status: 200, headers: { etag: 'x' }, body: text }));
  const error = await failureOf(source.read(never));
  assert.equal(error.kind, 'Invalid');
  assert.match(error.message, /header Metadata-Flavor: missing, expected Google/);
});

test('an IPv6-only VM has its IPv6 address, one without public address none', async (context) => {
  const only6 = payload(({ instance }) => {
    const [nic] = instance.networkInterfaces;
    instance.networkInterfaces = [{ ...nic, ip: undefined, ipv6: [], ipv6s: ['2001:db8::7'], accessConfigs: [] }];
  });
  const { source } = await openBeside(context, gce, metadata(only6));
  const { addresses } = await source.read(never);
  assert.deepEqual(
    addresses.filter(({ type }) => type.endsWith('IP')),
    [{ type: 'InternalIP', address: '2001:db8::7' }],
  );
});

const malformed: readonly (readonly [string, string, RegExp])[] = [
  ['a page that is no JSON', '<html>', /not JSON/],
  ['no instance', payload((all) => delete all.instance), /instance: missing, expected an object/],
  ['no project', payload((all) => delete all.project), /project: missing, expected an object/],
  ['no project id', payload(({ project }) => delete project.projectId), /project\.projectId: missing, expected text/],
  ['no name', payload(({ instance }) => delete instance.name), /instance\.name: missing, expected text/],
  [
    'an id that is a word',
    payload(({ instance }) => Object.assign(instance, { id: 'node-7' })),
    /instance\.id: "node-7"/,
  ],
  ['no zone', payload(({ instance }) => delete instance.zone), /instance\.zone: missing/],
  [
    'a zone that is none',
    payload(({ instance }) => Object.assign(instance, { zone: 'a zone/b c' })),
    /instance\.zone: "b c"/,
  ],
  ['no interfaces', payload(({ instance }) => delete instance.networkInterfaces), /networkInterfaces: missing/],
  [
    'interfaces that are an object',
    payload(({ instance }) => Object.assign(instance, { networkInterfaces: {} })),
    /networkInterfaces: \{\}, expected a list/,
  ],
  [
    'an address that is none',
    payload(({ instance }) => Object.assign(instance.networkInterfaces[1], { ip: 'none' })),
    /networkInterfaces\[1\]\.ip: "none", expected an IP address/,
  ],
];

for (const [name, document, message] of malformed) {
  test(`${name} is an error that names the field and shows nothing else`, async (context) => {
    const { source } = await openBeside(context, gce, metadata(document));
    const error = await failureOf(source.read(never));
    assert.equal(error.kind, 'Invalid');
    assert.match(error.message, message);
    assert.doesNotMatch(error.message, /not-for-anybody/);
  });
}

test('a VM announces preemption and maintenance, even if the service lacks one attribute', async (context) => {
  const states: readonly (readonly [Readonly<Record<string, string>>, readonly string[]])[] = [
    [{}, []],
    [{ 'instance/preempted': 'FALSE', 'instance/maintenance-event': 'NONE' }, []],
    [{ 'instance/preempted': 'TRUE\n' }, ['preemption']],
    [{ 'instance/maintenance-event': 'MIGRATE_ON_HOST_MAINTENANCE' }, ['maintenance']],
    [
      { 'instance/preempted': 'TRUE', 'instance/maintenance-event': 'TERMINATE_ON_HOST_MAINTENANCE' },
      ['preemption', 'termination'],
    ],
  ];
  for (const [attributes, kinds] of states) {
    const { source } = await openBeside(context, gce, metadata(text, 'e1', attributes));
    const notices = (await source.notices?.(never)) ?? assert.fail();
    assert.deepEqual(
      notices.map(({ kind }) => kind),
      kinds,
    );
  }
});

test('waits with the ETag of the last read, and is told of the change', async (context) => {
  let etag = 'e 1';
  let held: ((answer: FakeAnswer) => void) | undefined;
  const { source, service } = await openBeside(context, gce, (request) => {
    if (request.path.includes('wait_for_change') && held === undefined) {
      held = () => {};
      return hang;
    }
    return metadata(text, etag)(request);
  });
  const first = new AbortController();
  await source.read(never);
  const given = source.waitForChange?.(first.signal) ?? assert.fail();
  while (held === undefined) await settle(1);
  assert.equal(service.requests.at(-1)?.path, `${everything}&wait_for_change=true&last_etag=e%201&timeout_sec=60`);
  first.abort();
  await failureOf(given);
  etag = 'e2';
  await source.waitForChange?.(never);
});

test('a poll that ends at its own limit is followed by the next; a 503 is an error to retry', async (context) => {
  const clock = fakeClock(undefined, 1);
  let polls = 0;
  const { source } = await openBeside(
    context,
    gce,
    (request) => {
      if (request.path.includes('wait_for_change')) polls += 1;
      if (polls === 2) return { status: 503 };
      // The service holds the request for a minute, and answers with what it had.
      if (polls === 1) void clock.advance(60_000);
      return metadata()(request);
    },
    { clock },
  );
  await source.read(never);
  const error = await failureOf(source.waitForChange?.(never) ?? assert.fail());
  assert.equal(error.kind, 'Unavailable');
  assert.equal(polls, 2);
});

testFaults(gce, metadata());

test('reads the identity token whose audience is the challenge, with the claims of the VM', async (context) => {
  const challenge = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';
  const audience = encodeURIComponent(`https://mooring.dev/attestation/${challenge}`);
  const path = `instance/service-accounts/default/identity?audience=${audience}&format=full`;
  const { source } = await openBeside(context, gce, metadata(text, 'e1', { [path]: 'eyJh.eyJi.c2ln\n' }));
  const evidence = { cloud: 'gce', kind: 'identity-token', document: 'eyJh.eyJi.c2ln' };
  assert.deepEqual(await source.evidence?.(challenge, never), evidence);
});

test('says that a VM without a service account has no identity token', async (context) => {
  const { source } = await openBeside(context, gce, metadata());
  assert.match((await failureOf(source.evidence!('x', never))).message, /a VM with a service account/);
});
