import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { failureOf } from '../../common/testing/cloud-failure.ts';
import { type FakeAnswer, type SeenRequest, treeAnswer } from '../testing/fake-metadata.ts';
import { never, openBeside, testFaults } from '../testing/source-suite.ts';
import { oci } from './oci.ts';

const fixture = (name: string) => readFile(new URL(`fixtures/oci/${name}.json`, import.meta.url), 'utf8');
const instancePath = '/opc/v2/instance/';
const vnicsPath = '/opc/v2/vnics/';
const tree: Readonly<Record<string, string>> = {
  [instancePath]: await fixture('instance'),
  [vnicsPath]: await fixture('vnics'),
};

/** Version 2: no answer without the constant header, nor with a forwarding one. */
function metadata(paths: Readonly<Record<string, string>> = tree) {
  const read = treeAnswer(paths);
  return (request: SeenRequest): FakeAnswer => {
    const { headers } = request;
    const forwarded = headers['forwarded'] ?? headers['x-forwarded-for'] ?? headers['x-forwarded-host'];
    return headers['authorization'] === 'Bearer Oracle' && forwarded === undefined ? read(request) : { status: 400 };
  };
}

function changed(path: string, changes: Readonly<Record<string, unknown>>): Record<string, string> {
  return { ...tree, [path]: JSON.stringify({ ...JSON.parse(tree[path]!), ...changes }) };
}

test('reads the instance and its primary VNIC', async (context) => {
  const { source } = await openBeside(context, oci, metadata());
  const id = 'ocid1.instance.oc1.phx.anyhqljrabcdefghijklmnopqrstuvwxyz234567abcdefghijklmnopqrst';
  assert.deepEqual(await source.read(never), {
    cloud: 'oci',
    id,
    providerID: `oci://${id}`,
    incarnation: id,
    name: 'oke-node-7',
    zone: 'PHX-AD-1',
    region: 'phx',
    type: 'VM.Standard.E4.Flex',
    addresses: [
      { type: 'InternalIP', address: '10.0.10.7' },
      { type: 'InternalIP', address: '2603:c020:400d:5d7e::7' },
      { type: 'Hostname', address: 'oke-node-7' },
    ],
  });
});

test('reads an IPv6-only VNIC, and one without IPv6', async (context) => {
  const [primary] = JSON.parse(tree[vnicsPath]!);
  for (const [changes, expected] of [
    [{ privateIp: undefined }, ['2603:c020:400d:5d7e::7']],
    [{ ipv6Addresses: undefined }, ['10.0.10.7']],
  ] as const) {
    const paths = { ...tree, [vnicsPath]: JSON.stringify([{ ...primary, ...changes }]) };
    const { source } = await openBeside(context, oci, metadata(paths));
    const internal = (await source.read(never)).addresses.filter(({ type }) => type === 'InternalIP');
    assert.deepEqual(
      internal.map(({ address }) => address),
      expected,
    );
  }
});

const malformed: readonly (readonly [string, Readonly<Record<string, string>>, RegExp])[] = [
  ['no document', { [vnicsPath]: '[]' }, /document: missing/],
  ['a document that is not JSON', { ...tree, [instancePath]: '<html>' }, /not JSON/],
  ['no id', changed(instancePath, { id: undefined }), /id: missing, expected text/],
  ['the id of something else', changed(instancePath, { id: 'ocid1.vnic.oc1.phx.a' }), /id: "ocid1\.vnic.*OCID/],
  ['no availability domain', changed(instancePath, { availabilityDomain: null }), /availabilityDomain: null/],
  ['no region', changed(instancePath, { region: '' }), /region: "", expected text/],
  ['VNICs that are an object', { ...tree, [vnicsPath]: '{}' }, /vnics: \{\}, expected a list/],
  ['no VNIC', { ...tree, [vnicsPath]: '[]' }, /vnics\[0\]: missing, expected a VNIC with an address/],
  ['no list of VNICs', { [instancePath]: tree[instancePath]! }, /vnics\[0\]: missing/],
  ['an address that is none', { ...tree, [vnicsPath]: '[{"privateIp": "x"}]' }, /vnics\[0\]\.privateIp: "x"/],
];

for (const [name, paths, message] of malformed) {
  test(`${name} is an error that names the field and shows nothing else`, async (context) => {
    const { source } = await openBeside(context, oci, metadata(paths));
    const error = await failureOf(source.read(never));
    assert.equal(error.kind, 'Invalid');
    assert.match(error.message, message);
    assert.doesNotMatch(error.message, /bm90LWZvci1hbnlib2R5/);
  });
}

testFaults(oci, metadata());
