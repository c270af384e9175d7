import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { parse, stringify } from 'yaml';
import { CloudError } from '../../common/cloud-error.ts';
import { readTopLevel, valuesBelow, valuesOfItems } from './plain-yaml.ts';

const context = { cloud: 'nocloud', operation: 'read meta-data' };
const read = (text: string) => readTopLevel(context, text) as Record<string, unknown>;

/** As the library reads it, every scalar as it was written. */
const reference = (text: string): Record<string, unknown> => parse(text, { schema: 'failsafe', logLevel: 'error' });

test('plain and quoted texts are read as they were written, comments left out', () => {
  const text = [
    '# a comment',
    '---',
    'a: plain text # why',
    'b: "double \\"quoted\\" # no comment"',
    "c: 'it''s'",
    'd: 0042',
    'e: 1e3',
    'f: http://10.0.0.1:80/x#y',
    '"g": quoted key',
    'h:',
    'i: ~',
    'j: 2001:db8::1',
    '...',
  ].join('\r\n');
  assert.deepEqual(read(text), {
    a: 'plain text',
    b: 'double "quoted" # no comment',
    c: "it's",
    d: '0042',
    e: '1e3',
    f: 'http://10.0.0.1:80/x#y',
    g: 'quoted key',
    h: '',
    i: '',
    j: '2001:db8::1',
  });
});

test('reads no other value as a text', () => {
  for (const text of [
    'a: [x]',
    'a: {b: c}',
    'a: |\n  block\n',
    'a: >\n  folded\n',
    'a: &anchor x',
    'a: *alias',
    'a: !!str x',
    'a: first\n  second',
    'a:\n  b: c',
    'a:\n- b',
    'a: "open',
    "a: 'open",
    'a: "\\x41"',
    'a: "x" y',
    'a: b: c',
    'a: - b',
    'a: x\na: y',
  ]) {
    assert.deepEqual(read(text), { a: {} }, text);
  }
});

test('a document without keys, or invalid JSON, is an error that quotes nothing', () => {
  for (const text of ['', 'secret', '- a: secret', '<html>secret</html>', '{"a": "secret"']) {
    assert.throws(
      () => read(text),
      (error: unknown) => error instanceof CloudError && error.kind === 'Invalid' && !/secret/.test(error.message),
      text,
    );
  }
  assert.deepEqual(read(' {"a": 9007199254740993, "b": {"c": 1}}'), { a: '9007199254740993', b: { c: 1 } });
});

test('reads the same text as a YAML parser, or none, for any document', () => {
  const key = fc.stringMatching(/^[a-z][a-z0-9-]{0,8}$/);
  const scalar = fc.oneof(
    fc.string({ unit: 'grapheme-ascii', maxLength: 30 }),
    fc.stringMatching(/^[a-z0-9:/#.' "-]{0,20}$/),
    fc.integer(),
    fc.boolean(),
    fc.constant(null),
  );
  const value = fc.oneof(
    { weight: 4, arbitrary: scalar },
    fc.array(scalar, { maxLength: 3 }),
    fc.dictionary(key, scalar),
  );
  let texts = 0;
  fc.assert(
    fc.property(fc.dictionary(key, value, { minKeys: 1, noNullPrototype: true }), (document) => {
      const text = stringify(document);
      if (text.trimStart().startsWith('{')) return;
      const expected = reference(text);
      const found = read(text);
      assert.deepEqual(Object.keys(found).sort(), Object.keys(expected).sort(), text);
      for (const [name, got] of Object.entries(found)) {
        if (typeof got !== 'string') continue;
        texts += 1;
        const want = expected[name];
        assert.equal(got, want === 'null' ? '' : want, text);
      }
    }),
    { numRuns: 500 },
  );
  assert.ok(texts > 300, `only ${texts} texts were read`);
});

test('values below a section, and those of the items of a list', () => {
  const text =
    'a:\n  address: 1\nnetwork-config:\n  config:\n  - subnets:\n    - address: 2001:db8::1/64\n      type: ' +
    'static\n    - address: [x]\nb: 1\nc:\n  address: 3\n';
  assert.deepEqual(valuesBelow(text, 'network-config', 'address'), ['2001:db8::1/64']);
  assert.deepEqual(valuesBelow(text, 'c', 'address'), ['3']);
  assert.deepEqual(valuesBelow(text, 'missing', 'address'), []);
  const items =
    '- alias_ips:\n  - 10.0.0.70\n  ip: 10.0.0.7\n  nested:\n    ip: 10.9.9.9\n- ip: "10.1.0.3"\n  ' +
    'network_id: 4\n- network_id: 5\n';
  assert.deepEqual(valuesOfItems(items, 'ip'), ['10.0.0.7', '10.1.0.3']);
  assert.deepEqual(valuesOfItems('[]\n', 'ip'), []);
});
