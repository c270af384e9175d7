import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import type { Report } from '../../common/report.ts';
import { swapped } from '../../common/smbios-uuid.ts';
import { annotations } from '../../common/well-known.ts';
import { exampleInstance } from '../model/testing/example-instance.ts';
import { exampleNode } from '../model/testing/example-node.ts';
import { contradiction, namesInstance, uuidsContradict } from './instance-identity.ts';

const one = '11223344-5566-7788-99aa-bbccddeeff00';
const other = '99999999-5566-7788-99aa-bbccddeeff00';

function report(changes: Partial<Report>): Report {
  return {
    version: 1,
    agentVersion: '0',
    agentId: 'a',
    sequence: 1,
    observedAt: '2026-01-01T00:00:00Z',
    metadata: { ok: true, ageSeconds: 0, failures: 0 },
    ...changes,
  };
}
const reported = (changes: object) => ({
  cloud: 'simulated',
  id: 'i-1',
  providerID: 'simulated://sim-1/i-1',
  addresses: [],
  ...changes,
});

describe('what contradicts a Node', () => {
  const table: readonly [
    string,
    Parameters<typeof exampleNode>[0],
    Parameters<typeof exampleInstance>[0],
    Partial<Report> | undefined,
    RegExp | undefined,
  ][] = [
    ['nothing', {}, {}, undefined, undefined],
    ['its own providerID', { providerID: 'simulated://sim-1/i-1' }, {}, undefined, undefined],
    ['another providerID', { providerID: 'simulated://sim-1/i-2' }, {}, undefined, /providerID/],
    ['a providerID of another cloud', { providerID: 'aws:///x/i-1' }, {}, undefined, /providerID/],
    ['the recorded incarnation', { annotations: { [annotations.instance]: 's inc-1' } }, {}, undefined, undefined],
    ['another incarnation', { annotations: { [annotations.instance]: 's inc-0' } }, {}, undefined, /rebuilt/],
    [
      'an incarnation that was not recorded',
      { annotations: { [annotations.instance]: 's' } },
      {},
      undefined,
      undefined,
    ],
    ['the instance’s SMBIOS UUID', { systemUuid: one }, { smbiosUuid: other }, undefined, /SMBIOS/],
    ['the agent’s SMBIOS UUID', { systemUuid: one }, {}, { smbiosUuid: other }, /agent's machine/],
    [
      'a UUID that firmware left blank',
      { systemUuid: one },
      { smbiosUuid: '03000200-0400-0500-0006-000700080009' },
      undefined,
      undefined,
    ],
    ['the agent’s instance', {}, {}, { instance: reported({ id: 'i-2' }) }, /agent reports instance/],
    ['the agent’s incarnation', {}, {}, { instance: reported({ incarnation: 'inc-0' }) }, /incarnation/],
    [
      'the agent’s instance in another spelling of its id',
      {},
      { cloud: 'azure', id: '/subscriptions/s/N' },
      { instance: reported({ cloud: 'azure', id: '/subscriptions/s/n' }) },
      undefined,
    ],
    [
      'an agent that sees another cloud’s metadata',
      {},
      {},
      { instance: reported({ cloud: 'aws', id: 'i-2' }) },
      undefined,
    ],
  ];
  for (const [name, node, instance, told, expected] of table) {
    it(`finds ${expected === undefined ? 'no' : 'a'} contradiction: ${name}`, () => {
      const why = contradiction(exampleNode(node), exampleInstance(instance), told && report(told));
      if (expected === undefined) assert.equal(why, undefined);
      else assert.match(why ?? 'nothing', expected);
    });
  }

  const rebuilt = exampleNode({ annotations: { [annotations.instance]: 's inc-0' } });
  for (const [name, told, acceptsRebuild, accepted] of [
    ['its agent reports the new incarnation', { incarnation: 'inc-1' }, true, true],
    ['its agent reports the new incarnation, which is not enough', { incarnation: 'inc-1' }, false, false],
    ['its agent still reports the old incarnation', { incarnation: 'inc-0' }, true, false],
    ['its agent reports no incarnation', {}, true, false],
    ['its agent reports another instance', { id: 'i-2', incarnation: 'inc-1' }, true, false],
    ['its agent sees another cloud’s metadata', { cloud: 'aws', incarnation: 'inc-1' }, true, false],
    ['no agent reports', undefined, true, false],
  ] as const) {
    it(`${accepted ? 'accepts' : 'refuses'} a rebuilt instance when ${name}`, () => {
      const sent = told && report({ instance: reported(told) });
      const why = contradiction(rebuilt, exampleInstance({}), sent, undefined, acceptsRebuild);
      assert.equal(why === undefined, accepted, why);
    });
  }

  for (const [providerID, instance, same] of [
    ['openstack:///ABC', { cloud: 'openstack', id: 'abc', providerID: 'openstack:///abc' }, true],
    ['openstack://region/abc', { cloud: 'openstack', id: 'abc', providerID: 'openstack:///abc' }, true],
    ['/abc', { cloud: 'openstack', id: 'abc', providerID: 'openstack:///abc' }, true],
    ['aws:////i-1', { cloud: 'aws', id: 'i-1', providerID: 'aws:///eu-1a/i-1' }, true],
    ['i-1', { cloud: 'aws', id: 'i-1', providerID: 'aws:///eu-1a/i-1' }, true],
    ['aws:///eu-1a/i-2', { cloud: 'aws', id: 'i-1', providerID: 'aws:///eu-1a/i-1' }, false],
    [
      'vsphere://56492E42-22AD-3911-6D72-59CC8F26BC90',
      {
        cloud: 'vsphere',
        id: '422e4956-ad22-1139-6d72-59cc8f26bc90',
        providerID: 'vsphere://422e4956-ad22-1139-6d72-59cc8f26bc90',
      },
      true,
    ],
    [
      'vsphere://56492e42-22ad-3911-6d72-59cc8f26bc91',
      {
        cloud: 'vsphere',
        id: '422e4956-ad22-1139-6d72-59cc8f26bc90',
        providerID: 'vsphere://422e4956-ad22-1139-6d72-59cc8f26bc90',
      },
      false,
    ],
    ['x://1', { cloud: 'unheard-of', id: '1', providerID: 'x://1' }, true],
    ['x://2', { cloud: 'unheard-of', id: '1', providerID: 'x://1' }, false],
  ] as const) {
    it(`${providerID} ${same ? 'means' : 'does not mean'} ${instance.providerID}`, () =>
      assert.equal(namesInstance(providerID, instance), same));
  }
});

describe('two SMBIOS UUIDs', () => {
  it('agrees on a UUID in either byte order and any case, and contradicts symmetrically', () => {
    fc.assert(
      fc.property(fc.uuid(), fc.uuid(), (a, b) => {
        assert.equal(uuidsContradict(a, a.toUpperCase()), false);
        assert.equal(uuidsContradict(a, swapped(a)), false);
        assert.equal(uuidsContradict(a, b), uuidsContradict(b, a));
        if (a !== b && swapped(a) !== b) assert.equal(uuidsContradict(a, b), true);
      }),
      { seed: 16 },
    );
  });
  it('finds no contradiction where a UUID is missing or malformed', () => {
    for (const nothing of [undefined, '', 'Not Specified', 'ffffffff-ffff-ffff-ffff-ffffffffffff']) {
      assert.equal(uuidsContradict(one, nothing), false);
    }
  });
});
