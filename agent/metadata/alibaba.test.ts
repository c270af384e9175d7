import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { failureOf } from '../../common/testing/cloud-failure.ts';
import { type FakeAnswer, type SeenRequest, treeAnswer } from '../testing/fake-metadata.ts';
import { never, openBeside, testFaults } from '../testing/source-suite.ts';
import { alibaba } from './alibaba.ts';

const tree: Readonly<Record<string, string>> = JSON.parse(
  await readFile(new URL('fixtures/alibaba.json', import.meta.url), 'utf8'),
);
const meta = '/latest/meta-data/';
const ipv6s = `${meta}network/interfaces/macs/00:16:3e:0f:4d:3d/ipv6s`;
const spot = `${meta}instance/spot/termination-time`;

/** A service that requires tokens. */
function enforcing(paths: Readonly<Record<string, string>> = tree) {
  const read = treeAnswer(paths);
  return (request: SeenRequest): FakeAnswer => {
    if (request.path === '/latest/api/token') {
      const ttl = Number(request.headers['x-aliyun-ecs-metadata-token-ttl-seconds']);
      return request.method === 'PUT' && ttl >= 1 && ttl <= 21_600 ? 'token-1' : { status: 400 };
    }
    return request.headers['x-aliyun-ecs-metadata-token'] === 'token-1' ? read(request) : { status: 403 };
  };
}

function without(...keys: readonly string[]): Record<string, string> {
  return Object.fromEntries(Object.entries(tree).filter(([path]) => !keys.some((key) => path.endsWith(key))));
}

const full = {
  cloud: 'alibaba',
  id: 'i-bp15xyzabc0123456789',
  providerID: 'cn-hangzhou.i-bp15xyzabc0123456789',
  incarnation: 'i-bp15xyzabc0123456789',
  name: 'cn-hangzhou.i-bp15xyzabc0123456789',
  zone: 'cn-hangzhou-i',
  region: 'cn-hangzhou',
  type: 'ecs.g7.large',
  addresses: [
    { type: 'InternalIP', address: '192.168.3.7' },
    { type: 'ExternalIP', address: '203.0.113.88' },
    { type: 'InternalIP', address: '2408:4005:30c::7' },
    { type: 'Hostname', address: 'iZbp15xyzabc0123456789Z' },
  ],
};

test('reads identity and the primary addresses, with a token', async (context) => {
  const { source, service } = await openBeside(context, alibaba, enforcing());
  assert.deepEqual(await source.read(never), full);
  assert.equal(service.requests[0]?.method, 'PUT');
});

test('reads without a token where the service has none', async (context) => {
  const { source } = await openBeside(context, alibaba, treeAnswer(tree));
  assert.deepEqual(await source.read(never), full);
});

test('a classic public address counts before an elastic one; without either there is none', async (context) => {
  const cases: readonly (readonly [Record<string, string>, readonly string[]])[] = [
    [{ ...tree, [`${meta}public-ipv4`]: '198.51.100.5' }, ['198.51.100.5']],
    [{ ...tree, [`${meta}public-ipv4`]: '' }, ['203.0.113.88']],
    [without('eipv4'), []],
  ];
  for (const [paths, expected] of cases) {
    const { source } = await openBeside(context, alibaba, enforcing(paths));
    const { addresses } = await source.read(never);
    assert.deepEqual(
      addresses.filter(({ type }) => type === 'ExternalIP').map(({ address }) => address),
      expected,
    );
  }
});

test('lists are read with quotes and without', async (context) => {
  for (const [text, expected] of [
    ['["2408:4005:30c::9"]', '2408:4005:30c::9'],
    ['2408:4005:30c::a', '2408:4005:30c::a'],
    ['[]', undefined],
  ] as const) {
    const { source } = await openBeside(context, alibaba, enforcing({ ...tree, [ipv6s]: text }));
    const internal = (await source.read(never)).addresses.filter(({ type }) => type === 'InternalIP');
    assert.equal(internal[1]?.address, expected);
  }
});

const malformed: readonly (readonly [string, Readonly<Record<string, string>>, RegExp])[] = [
  ['no id', without('instance-id'), /instance-id: missing, expected i-/],
  ['an id of another cloud', { ...tree, [`${meta}instance-id`]: 'ins-1' }, /instance-id: "ins-1"/],
  ['no region', without('region-id'), /region-id: missing, expected a region/],
  ['a page in place of the zone', { ...tree, [`${meta}zone-id`]: '<html>' }, /zone-id: "<html>", expected a zone/],
  ['a MAC that leads elsewhere', { ...tree, [`${meta}mac`]: '../../x' }, /mac: "..\/..\/x", expected a MAC/],
  ['an address that is none', { ...tree, [`${meta}private-ipv4`]: 'x' }, /private-ipv4: "x", expected an IP address/],
  ['no address at all', without('ipv4', 'ipv6s'), /private-ipv4: missing, expected an IP address/],
];

for (const [name, paths, message] of malformed) {
  test(`${name} is an error that names the field`, async (context) => {
    const { source } = await openBeside(context, alibaba, enforcing(paths));
    const error = await failureOf(source.read(never));
    assert.equal(error.kind, 'Invalid');
    assert.match(error.message, message);
  });
}

test('reports a metadata service that is switched off', async (context) => {
  const { source } = await openBeside(context, alibaba, () => ({ status: 403 }));
  const error = await failureOf(source.read(never));
  assert.equal(error.kind, 'Forbidden');
  assert.match(error.message, /switched off/);
});

test('a spot instance that is about to be released announces it', async (context) => {
  const calm = await openBeside(context, alibaba, enforcing());
  assert.deepEqual(await calm.source.notices?.(never), []);
  const leaving = await openBeside(context, alibaba, enforcing({ ...tree, [spot]: '2026-01-05T18:02:00Z\n' }));
  assert.deepEqual(await leaving.source.notices?.(never), [
    {
      kind: 'preemption',
      deadline: '2026-01-05T18:02:00.000Z',
      message: 'this spot instance is about to be released',
    },
  ]);
  const odd = await openBeside(context, alibaba, enforcing({ ...tree, [spot]: 'soon' }));
  assert.match((await failureOf(odd.source.notices!(never))).message, /termination-time: "soon", expected a moment/);
});

testFaults(alibaba, enforcing());
