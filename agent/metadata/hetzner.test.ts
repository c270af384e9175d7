import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { failureOf } from '../../common/testing/cloud-failure.ts';
import { type FakeAnswer, treeAnswer } from '../testing/fake-metadata.ts';
import { never, openBeside, testFaults } from '../testing/source-suite.ts';
import { hetzner } from './hetzner.ts';

const fixture = (name: string) => readFile(new URL(`fixtures/hetzner/${name}.yaml`, import.meta.url), 'utf8');
const path = '/hetzner/v1/metadata';
const networks = `${path}/private-networks`;
const tree = { [path]: await fixture('metadata'), [networks]: await fixture('private-networks') };

function replacing(from: string | RegExp, to: string): Record<string, string> {
  return { ...tree, [path]: tree[path]!.replace(from, to) };
}

test('reads identity, location and every address', async (context) => {
  const { source, service } = await openBeside(context, hetzner, treeAnswer(tree), {
    dmi: { productSerial: '42123456' },
  });
  assert.deepEqual(await source.read(never), {
    cloud: 'hetzner',
    id: '42123456',
    providerID: 'hcloud://42123456',
    incarnation: '42123456',
    name: 'node-7',
    zone: 'fsn1-dc14',
    region: 'fsn1',
    addresses: [
      { type: 'Hostname', address: 'node-7' },
      { type: 'ExternalIP', address: '203.0.113.7' },
      { type: 'ExternalIP', address: '2a01:4f8:c2c:1234::1' },
      { type: 'InternalIP', address: '10.0.0.7' },
      { type: 'InternalIP', address: '10.1.0.3' },
    ],
  });
  assert.equal(service.requests.length, 2);
});

test('zones are those of the cloud controller; a location without one is its own', async (context) => {
  for (const [written, region, zone] of [
    ['nbg1-dc3', 'nbg1', 'nbg1-dc3'],
    ['hil-dc1', 'hil', 'hil-dc1'],
    ['new9-dc4', 'new9', 'new9'],
    ['new9', 'new9', 'new9'],
  ] as const) {
    const { source } = await openBeside(context, hetzner, treeAnswer(replacing('fsn1-dc8', written)));
    const instance = await source.read(never);
    assert.deepEqual([instance.region, instance.zone], [region, zone]);
  }
});

test('a server in no network has no internal address, in any form of the answer', async (context) => {
  const answers: readonly FakeAnswer[] = [undefined, '', '[]\n', { status: 204 }];
  for (const answer of answers) {
    const { source } = await openBeside(context, hetzner, (request) =>
      request.path === networks ? answer : treeAnswer(tree)(request),
    );
    const { addresses } = await source.read(never);
    assert.ok(!addresses.some(({ type }) => type === 'InternalIP'));
  }
});

test('a server without public IPv4 has its IPv6 address alone', async (context) => {
  const { source } = await openBeside(
    context,
    hetzner,
    treeAnswer(replacing('public-ipv4: 203.0.113.7', "public-ipv4: ''")),
  );
  const { addresses } = await source.read(never);
  assert.deepEqual(
    addresses.filter(({ type }) => type === 'ExternalIP'),
    [{ type: 'ExternalIP', address: '2a01:4f8:c2c:1234::1' }],
  );
});

test('an answer about another server than the firmware names is refused', async (context) => {
  const { source } = await openBeside(context, hetzner, treeAnswer(tree), { dmi: { productSerial: '1' } });
  assert.match((await failureOf(source.read(never))).message, /instance-id: "42123456", expected 1 as in the firmware/);
});

const malformed: readonly (readonly [string, Readonly<Record<string, string>>, RegExp])[] = [
  ['no document', {}, /document: missing/],
  ['a text', { ...tree, [path]: 'hello' }, /no YAML mapping/],
  ['an id over two lines', replacing('42123456', '42\n  123456'), /instance-id: \{\}, expected text/],
  ['no id', replacing(/^instance-id:.*$/m, ''), /instance-id: missing, expected text/],
  ['an id that is a name', replacing('42123456', 'node-7'), /instance-id: "node-7", expected a server's number/],
  ['no host name', replacing(/^hostname:.*$/m, ''), /hostname: missing/],
  ['no availability zone', replacing(/^availability-zone:.*$/m, ''), /availability-zone: missing/],
  ['an address that is none', replacing('203.0.113.7', 'none'), /public-ipv4: "none", expected an IP address/],
  [
    'networks that are an object',
    { ...tree, [networks]: 'ip: 10.0.0.7' },
    /private-networks: .*expected a list of networks/,
  ],
  [
    'a network without address',
    { ...tree, [networks]: '- network_id: 4711' },
    /\{"items":1,"ips":0\}, expected a list/,
  ],
  ['a network whose address is none', { ...tree, [networks]: '- ip: x' }, /ip: "x", expected an IP address/],
];

for (const [name, paths, message] of malformed) {
  test(`${name} is an error that names the field and shows nothing else`, async (context) => {
    const { source } = await openBeside(context, hetzner, treeAnswer(paths));
    const error = await failureOf(source.read(never));
    assert.equal(error.kind, 'Invalid');
    assert.match(error.message, message);
    assert.doesNotMatch(error.message, /not-for-anybody/);
  });
}

testFaults(hetzner, treeAnswer(tree));
