import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import type { NodeAddress } from '../../common/instance.ts';
import { maxReportBytes } from '../../common/report.ts';
import { createReportReader } from './read-report.ts';
import { reportJsonSchema } from './report-schema.ts';
import { exampleReport } from './testing/example-report.ts';
import { releasedReports } from './testing/released-reports.ts';

const read = createReportReader();

/** The example with the value at a dotted path replaced; undefined removes it. */
function withValue(path: string, value: unknown): unknown {
  const root = JSON.parse(JSON.stringify(exampleReport())) as Record<string, unknown>;
  const parts = path.split('.');
  const last = parts.pop() ?? '';
  let at = root;
  for (const part of parts) at = at[part] as Record<string, unknown>;
  if (value === undefined) delete at[last];
  else Object.defineProperty(at, last, { value, enumerable: true, configurable: true });
  return root;
}

function withAddress(address: unknown, type = 'InternalIP'): unknown {
  return withValue('instance.addresses', [{ type, address }]);
}

function addresses(length: number): NodeAddress[] {
  return Array.from({ length }, (_, n) => ({ type: 'InternalIP', address: `10.0.${n >> 8}.${n & 255}` }));
}

describe('reading a report', () => {
  it('accepts an address for each pod of a large machine', () => {
    const value = withValue('instance.addresses', addresses(650));
    assert.ok(JSON.stringify(value).length < maxReportBytes);
    assert.deepEqual(read(value).report, value);
  });

  it('accepts the letters and digits that a resource group of Azure may have, and no others', () => {
    const report = (group: string) => {
      const id = `/subscriptions/5c1d9d1e/resourceGroups/${group}/providers/Microsoft.Compute/virtualMachines/vm`;
      return withValue('instance', { cloud: 'azure', id, providerID: `azure://${id}`, addresses: [] });
    };
    for (const group of ['gruppe-ä_(1)', '资源组', 'गट३', '𐐨'])
      assert.deepEqual(read(report(group)), { report: report(group) });
    for (const char of [' ', '\u00a0', '\u200b', '\u202e', '\u0085', '\u2028', '\ud800', '\u{1f600}'])
      assert.match(read(report(`a${char}b`)).fault?.field ?? '', /^instance\.(id|providerID)$/, JSON.stringify(char));
  });

  it('accepts a complete report and a minimal one', () => {
    assert.deepEqual(read(exampleReport()).report, exampleReport());
    const { version, agentVersion, agentId, sequence, observedAt, metadata } = exampleReport();
    assert.ok(read({ version, agentVersion, agentId, sequence, observedAt, metadata }).report);
  });

  for (const [release, bodies] of Object.entries(releasedReports))
    it(`accepts what agents of ${release} send`, () => {
      for (const body of bodies) assert.deepEqual(read(body), { report: body });
    });

  const faults: readonly [name: string, value: unknown, field: string, expected: RegExp][] = [
    ['no object', 5, 'report', /object/],
    ['null', null, 'report', /object/],
    ['a list', [], 'report', /object|value/],
    ['an unknown version', withValue('version', 2), 'version', /1|constant/],
    ['a missing field', withValue('metadata', undefined), 'metadata', /a value/],
    ['a missing field further down', withValue('instance.providerID', undefined), 'instance.providerID', /a value/],
    ['a field of ours that is not in the contract', withValue('nodeName', 'other'), 'nodeName', /no such field/],
    ['__proto__ as a field', withValue('__proto__', {}), '__proto__', /no such field/],
    ['a text as number', withValue('sequence', '7'), 'sequence', /integer/],
    ['a negative sequence', withValue('sequence', -1), 'sequence', />= 0/],
    ['a fraction', withValue('sequence', 1.5), 'sequence', /integer/],
    ['infinity', withValue('metadata.ageSeconds', Number.POSITIVE_INFINITY), 'metadata.ageSeconds', /number/],
    ['an empty zone', withValue('instance.zone', ''), 'instance.zone', /character/],
    ['a line break', withValue('instance.zone', 'a\nb'), 'instance.zone', /pattern/],
    ['a long name', withValue('instance.name', 'x'.repeat(254)), 'instance.name', /253/],
    ['a C1 control character', withValue('instance.type', 'a\u009b1m'), 'instance.type', /pattern/],
    ['text that is turned round', withValue('instance.region', 'a\u202eb'), 'instance.region', /pattern/],
    ['a line separator', withValue('instance.name', 'a\u2028b'), 'instance.name', /pattern/],
    ['a zero-width space', withValue('instance.name', 'a\u200bb'), 'instance.name', /pattern/],
    ['an Arabic letter mark', withValue('agentVersion', '1\u061c'), 'agentVersion', /pattern/],
    [
      'a line break in a notice',
      withValue('notices', [{ kind: 'maintenance', message: 'a\nb' }]),
      'notices[0].message',
      /pattern/,
    ],
    ['an escape in a failure', withValue('metadata.error', 'a\u001b[2J'), 'metadata.error', /pattern/],
    ['half a character', withValue('instance.zone', 'a\ud800'), 'instance.zone', /pattern/],
    ['an id with a space', withValue('instance.id', 'i 1'), 'instance.id', /pattern/],
    ['an incarnation with a space', withValue('instance.incarnation', 'a b'), 'instance.incarnation', /pattern/],
    ['an incarnation beyond ASCII', withValue('instance.incarnation', 'é'), 'instance.incarnation', /pattern/],
    ['more marks than characters', withValue('instance.name', `e${'\u0301'.repeat(300)}`), 'instance.name', /253/],
    ['an upper-case UUID', withValue('smbiosUuid', 'EC2E1916-9099-7CAF-FD21-012345ABCDEF'), 'smbiosUuid', /./],
    ['no time', withValue('observedAt', 'yesterday'), 'observedAt', /date-time/],
    ['an unknown notice', withValue('notices', [{ kind: 'flood' }]), 'notices[0].kind', /one of preemption/],
    ['a label of no valid key', withValue('instance.labels', { 'a b': 'c' }), 'instance.labels.a b', /no such field/],
    ['__proto__ as a label', withValue('instance.labels.__proto__', 'x'), 'instance.labels.__proto__', /no such field/],
    ['a label of no valid value', withValue('instance.labels', { a: 'b/c' }), 'instance.labels.a', /pattern/],
    ['an unknown address type', withAddress('10.0.0.1', 'PublicIP'), 'instance.addresses[0].type', /one of InternalIP/],
    ['a name as IP', withAddress('localhost'), 'instance.addresses[0].address', /IPv4 or IPv6/],
    ['a short form of an IP', withAddress('127.1'), 'instance.addresses[0].address', /IPv4 or IPv6/],
    ['a loopback address', withAddress('127.0.0.1'), 'instance.addresses[0].address', /machine/],
    ['a mapped loopback address', withAddress('::ffff:127.0.0.1'), 'instance.addresses[0].address', /machine/],
    ['the unspecified address', withAddress('0.0.0.0'), 'instance.addresses[0].address', /machine/],
    ['a multicast address', withAddress('ff02::1'), 'instance.addresses[0].address', /machine/],
    ['a zone index', withAddress('fe80::1%eth0'), 'instance.addresses[0].address', /./],
    ['an odd host name', withAddress('-x-', 'Hostname'), 'instance.addresses[0].address', /host name/],
    ['1001 addresses', withValue('instance.addresses', addresses(1001)), 'instance.addresses', /1000/],
  ];
  for (const [name, value, field, expected] of faults) {
    it(`names the fault of ${name}`, () => {
      const { fault } = read(value);
      assert.equal(fault?.field, field);
      assert.match(fault?.expected ?? '', expected);
    });
  }

  it('refuses one address twice under one type, and takes it under two', () => {
    const twice: NodeAddress[] = [
      { type: 'InternalIP', address: '10.0.0.5' },
      { type: 'InternalIP', address: '10.0.0.5' },
    ];
    assert.equal(read(withValue('instance.addresses', twice)).fault?.field, 'instance.addresses[1].address');
    const both: NodeAddress[] = [
      { type: 'InternalIP', address: '10.0.0.5' },
      { type: 'ExternalIP', address: '10.0.0.5' },
    ];
    assert.ok(read(withValue('instance.addresses', both)).report);
  });

  it('takes a providerID only for the instance that the report names', () => {
    const about = (cloud: string, id: string, providerID: string) =>
      read(withValue('instance', { cloud, id, providerID, addresses: [] })).fault;
    for (const [cloud, id, providerID] of [
      ['aws', 'i-0abc', 'aws:///eu-west-1a/i-0other'],
      ['aws', 'i-0abc', 'openstack:///i-0abc'],
      ['openstack', '1f2d', 'openstack:///9999'],
      ['gce', 'p/z/one', 'gce://p/z/two'],
      ['simulated', 'i-1', 'simulated://sim-1/i-2'],
    ] as const) {
      const fault = about(cloud, id, providerID);
      assert.equal(fault?.field, 'instance.providerID', providerID);
      assert.match(fault?.expected ?? '', new RegExp(`${cloud}.*${id}`));
    }
    assert.equal(about('openstack', '1F2D', 'openstack://region-1/1f2d'), undefined);
    assert.equal(about('nobody-knows', 'x', 'nobody://y'), undefined);
  });

  it('shows a long value shortened', () => {
    const { fault } = read(withValue('instance.name', 'x'.repeat(5000)));
    assert.ok(fault && fault.value.length <= 64 && fault.field.length < 200);
  });

  it('shows nothing of a field that it does not know, nor of evidence: either may hold a secret', () => {
    const secret = 'hunter2-hunter2';
    const faults = [
      read(withValue('evidense', { document: secret })).fault,
      read(withValue('password', secret)).fault,
      read(withValue('evidence', secret)).fault,
      read(withValue('evidence', { cloud: 'aws', kind: secret.repeat(9), document: secret })).fault,
      read(withValue('evidence', { cloud: 'aws', kind: 'pkcs7', document: secret.repeat(9000) })).fault,
      read(withValue('instance', [secret])).fault,
    ];
    for (const fault of faults) assert.ok(fault && !JSON.stringify(fault).includes('hunter2'), JSON.stringify(fault));
  });

  it('shows control and bidirectional characters by their code points', () => {
    for (const odd of ['\u001b[2J', '\u009b1m', '\u202egnirts', '\u2028', '\ud800', '\u0000']) {
      for (const fault of [read(withValue('bootId', odd)).fault, read(withValue(`x${odd}`, 1)).fault]) {
        assert.match(`${fault?.field} ${fault?.value} ${fault?.expected}`, /^[ -~]+$/);
      }
    }
  });

  it('names the fault of what is nested as deep as the size limit allows', () => {
    const deep: unknown = JSON.parse('['.repeat(16_000) + ']'.repeat(16_000));
    for (const value of [deep, withValue('instance', deep), withValue('deep', deep), withValue('notices', deep)]) {
      assert.ok(read(value).fault);
    }
  });

  it('survives any JSON with a fault that has a name, however often it is asked', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 6 }), (value) => {
        const { report, fault } = read(value);
        return report === undefined && fault.field !== '' && fault.expected !== '';
      }),
    );
  });

  it('survives a report with any one value replaced', () => {
    const paths = [
      'version',
      'agentId',
      'sequence',
      'observedAt',
      'bootId',
      'instance',
      'instance.cloud',
      'instance.labels',
    ];
    const more = [
      'instance.addresses',
      'instance.addresses.0',
      'metadata',
      'metadata.ok',
      'notices',
      'notices.0.kind',
      'evidence',
    ];
    fc.assert(
      fc.property(fc.constantFrom(...paths, ...more), fc.jsonValue({ maxDepth: 3 }), (path, value) => {
        const { report, fault } = read(withValue(path, value));
        return (
          report !== undefined || fault.field === path.split('.')[0] || fault.field.includes(path.split('.')[0] ?? '?')
        );
      }),
    );
  });

  it('takes linear time for a hostile label key', () => {
    const hostile = `${'a'.repeat(30_000)}!`;
    assert.ok(read(withValue('instance.labels', { [hostile]: 'x' })).fault);
  });

  it('publishes its schema', () => {
    const schema = reportJsonSchema() as { required: string[]; additionalProperties: boolean };
    assert.deepEqual(schema.required, ['version', 'agentVersion', 'agentId', 'sequence', 'observedAt', 'metadata']);
    assert.equal(schema.additionalProperties, false);
  });
});
