import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { objectOf } from '../json.ts';
import { DecodeError, decode } from './decode.ts';
import { leaseSchema } from './event-schema.ts';
import { nodeSchema } from './node-schema.ts';
import { normaliseQuantity } from './quantity.ts';
import { parseMicroTime, parseTime } from './time.ts';

test('decoding fills in what is always written and drops empty values', () => {
  const { value } = decode(nodeSchema, {
    metadata: { name: 'n', labels: {} },
    spec: { providerID: '', unschedulable: false },
  });
  assert.deepEqual(value['metadata'], { name: 'n' });
  assert.deepEqual(value['spec'], {});
  assert.deepEqual(objectOf(value['status'])['daemonEndpoints'], { kubeletEndpoint: { Port: 0 } });
  assert.equal(objectOf(objectOf(value['status'])['nodeInfo'])['bootID'], '');
});

test('decoding names unknown fields by their path', () => {
  const { unknown } = decode(nodeSchema, { spec: { bogus: 1, taints: [{ key: 'a', effect: 'NoSchedule', odd: 2 }] } });
  assert.deepEqual(unknown, ['spec.taints[0].odd', 'spec.bogus']);
});

test("decoding refuses a wrong type in Go's words", () => {
  assert.throws(
    () => decode(nodeSchema, { spec: { unschedulable: 'yes' } }),
    new DecodeError('json: cannot unmarshal string into Go struct field NodeSpec.spec.unschedulable of type bool'),
  );
});

test('decoding gives back the stored object itself when nothing differs', () => {
  const given = { metadata: { name: 'n', labels: { b: '2', a: '1' } }, status: { capacity: { cpu: '2' } } };
  const stored = decode(nodeSchema, given).value;
  assert.equal(decode(nodeSchema, structuredClone(stored), stored).value, stored);
  const changed = decode(nodeSchema, { ...given, spec: { unschedulable: true } }, stored).value;
  assert.notEqual(changed, stored);
  assert.equal(changed['status'], stored['status']);
});

test('a pointer keeps its zero, so that validation can see it', () => {
  const { value } = decode(leaseSchema, { spec: { leaseDurationSeconds: 0, holderIdentity: '' } });
  assert.deepEqual(value['spec'], { holderIdentity: '', leaseDurationSeconds: 0 });
});

const quantities: [string, string | undefined][] = [
  ['3.5', '3500m'],
  ['4', '4'],
  ['1000m', '1'],
  ['1024Ki', '1Mi'],
  ['1024Mi', '1Gi'],
  ['1500Mi', '1500Mi'],
  ['0.5Gi', '512Mi'],
  ['16384000Ki', '16000Mi'],
  ['1000k', '1M'],
  ['1e3', '1e3'],
  ['0', '0'],
  ['-1500m', '-1500m'],
  ['512', '512'],
  ['1Ki', '1Ki'],
  ['', undefined],
  ['abc', undefined],
  ['1KiB', undefined],
];
for (const [given, want] of quantities) {
  test(`the quantity ${JSON.stringify(given)} reads back as ${want}`, () => {
    assert.equal(normaliseQuantity(given), want);
  });
}

test('a canonical quantity stays as it is', () => {
  const suffix = fc.constantFrom('', 'm', 'k', 'M', 'G', 'Ki', 'Mi', 'Gi', 'n', 'u');
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 10 ** 9 }), suffix, (number, unit) => {
      const once = normaliseQuantity(`${number}${unit}`);
      assert.ok(once !== undefined);
      assert.equal(normaliseQuantity(once), once);
    }),
  );
});

test('a MicroTime has exactly six fractional digits', () => {
  assert.deepEqual(parseMicroTime('2026-01-01T00:00:01.123456Z'), { text: '2026-01-01T00:00:01.123456Z' });
  for (const refused of ['01Z', '01.5Z', '01.123Z', '01.123456789Z']) {
    const text = `2026-01-01T00:00:${refused}`;
    const answer = parseMicroTime(text);
    assert.match(
      'error' in answer ? answer.error : '',
      /^parsing time ".*" as "2006-01-02T15:04:05.000000Z07:00": cannot parse/,
    );
  }
});

test('times with an offset are kept in UTC, whole seconds for metav1.Time', () => {
  assert.deepEqual(parseMicroTime('2026-01-01T02:00:00.000001+02:00'), { text: '2026-01-01T00:00:00.000001Z' });
  assert.deepEqual(parseTime('2026-01-01T02:00:00.999+02:00'), { text: '2026-01-01T00:00:00Z' });
  assert.ok('error' in parseTime('yesterday'));
});
