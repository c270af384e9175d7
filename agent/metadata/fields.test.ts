import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CloudError } from '../../common/cloud-error.ts';
import { addressOf, fieldsOf } from './fields.ts';

const context = { cloud: 'aws', operation: 'GET /x' };

function saying(message: string) {
  return (error: unknown) =>
    error instanceof CloudError && error.kind === 'Invalid' && error.message === `aws GET /x: ${message}`;
}

test('a missing field names itself with its path', () => {
  const fields = fieldsOf(context, { a: { b: [{ c: 'x' }, {}] }, n: 5, e: ' ' });
  assert.throws(() => fields.text('z'), saying('z: missing, expected text'));
  assert.throws(() => fields.text('e'), saying('e: " ", expected text'));
  assert.throws(() => fields.text('a'), saying('a: {"b":[{"c":"x"},{}]}, expected text'));
  const list = fields.optionalObject('a')?.objects('b') ?? [];
  assert.equal(list[0]?.text('c'), 'x');
  assert.throws(() => list[1]?.text('c'), saying('a.b[1].c: missing, expected text'));
  assert.equal(fields.text('n'), '5');
});

test('a list of texts omits empty texts and refuses other values by name', () => {
  const fields = fieldsOf(context, { a: ['x', ' ', 7, null, 'y'], b: 'x', c: ['x', {}] });
  assert.deepEqual(fields.texts('a'), ['x', '7', 'y']);
  assert.deepEqual(fields.texts('z'), []);
  assert.throws(() => fields.texts('b'), saying('b: "x", expected a list'));
  assert.throws(() => fields.texts('c'), saying('c[1]: {}, expected text'));
});

test('an inherited property is not a field', () => {
  assert.equal(fieldsOf(context, {}).optionalText('toString'), undefined);
  assert.equal(fieldsOf(context, JSON.parse('{"__proto__": "x"}')).text('__proto__'), 'x');
});

test('long values are shortened in messages', () => {
  assert.throws(
    () => fieldsOf(context, 'x'.repeat(500)),
    (error: unknown) => error instanceof CloudError && error.message.length < 140,
  );
});

test('addresses are canonical, without prefix length and brackets', () => {
  assert.equal(addressOf(context, 'ip', '10.0.0.1/24'), '10.0.0.1');
  assert.equal(addressOf(context, 'ip', '2001:DB8:0:0:0:0:0:1/64'), '2001:db8::1');
  assert.equal(addressOf(context, 'ip', '[2001:db8::1]'), '2001:db8::1');
  for (const bad of ['10.0.0', '10.0.0.1.', 'fe80::1%eth0', '', 'name', '010.0.0.1']) {
    assert.throws(() => addressOf(context, 'ip', bad), saying(`ip: ${JSON.stringify(bad)}, expected an IP address`));
  }
});
