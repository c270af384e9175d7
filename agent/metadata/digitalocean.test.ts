import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { failureOf } from '../../common/testing/cloud-failure.ts';
import { treeAnswer } from '../testing/fake-metadata.ts';
import { never, openBeside, testFaults } from '../testing/source-suite.ts';
import { digitalocean } from './digitalocean.ts';

const path = '/metadata/v1.json';
const text = await readFile(new URL('fixtures/digitalocean.json', import.meta.url), 'utf8');

// biome-ignore lint/suspicious/noExplicitAny: a payload with any fault
function payload(change: (document: any) => void): string {
  const document = JSON.parse(text);
  change(document);
  return JSON.stringify(document);
}

test('reads the droplet and its own addresses', async (context) => {
  const { source } = await openBeside(context, digitalocean, treeAnswer({ [path]: text }), {
    dmi: { productSerial: '401234567' },
  });
  assert.deepEqual(await source.read(never), {
    cloud: 'digitalocean',
    id: '401234567',
    providerID: 'digitalocean://401234567',
    incarnation: '401234567',
    name: 'node-7',
    region: 'fra1',
    addresses: [
      { type: 'Hostname', address: 'node-7' },
      { type: 'InternalIP', address: '10.135.0.7' },
      { type: 'ExternalIP', address: '203.0.113.24' },
      { type: 'ExternalIP', address: '2a03:b0c0:3:d0::abc:1001' },
    ],
  });
});

test('reads a droplet outside every VPC, and one without public network', async (context) => {
  for (const [gone, expected] of [
    ['private', ['Hostname', 'ExternalIP', 'ExternalIP']],
    ['public', ['Hostname', 'InternalIP']],
  ] as const) {
    const document = payload(({ interfaces }) => delete interfaces[gone]);
    const { source } = await openBeside(context, digitalocean, treeAnswer({ [path]: document }));
    assert.deepEqual(
      (await source.read(never)).addresses.map(({ type }) => type),
      expected,
    );
  }
});

test('an answer about another droplet than the firmware names is refused', async (context) => {
  const dmi = { productSerial: '9' };
  const { source } = await openBeside(context, digitalocean, treeAnswer({ [path]: text }), { dmi });
  assert.match((await failureOf(source.read(never))).message, /droplet_id: "401234567", expected 9 as in the firmware/);
});

const malformed: readonly (readonly [string, string | undefined, RegExp])[] = [
  ['no document', undefined, /document: missing/],
  ['a document that is not JSON', '<html>', /not JSON/],
  ['no id', payload((all) => delete all.droplet_id), /droplet_id: missing, expected text/],
  ['an id that is a name', payload((all) => Object.assign(all, { droplet_id: 'x' })), /droplet_id: "x", expected/],
  ['no region', payload((all) => delete all.region), /region: missing/],
  ['no host name', payload((all) => delete all.hostname), /hostname: missing/],
  ['no interfaces', payload((all) => delete all.interfaces), /interfaces: missing, expected an object/],
  [
    'an address that is none',
    payload(({ interfaces }) => Object.assign(interfaces.public[0].ipv4, { ip_address: 'x' })),
    /interfaces\.public\[0\]\.ipv4\.ip_address: "x", expected an IP address/,
  ],
];

for (const [name, document, message] of malformed) {
  test(`${name} is an error that names the field and shows nothing else`, async (context) => {
    const paths = document === undefined ? {} : { [path]: document };
    const { source } = await openBeside(context, digitalocean, treeAnswer(paths));
    const error = await failureOf(source.read(never));
    assert.equal(error.kind, 'Invalid');
    assert.match(error.message, message);
    assert.doesNotMatch(error.message, /not-for-anybody/);
  });
}

testFaults(digitalocean, treeAnswer({ [path]: text }));
