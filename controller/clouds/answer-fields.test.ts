import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type AnswerFields, answerFields } from './answer-fields.ts';
import { addressIn, oneOfIn, pairsIn, timeIn, wholeIn } from './answer-values.ts';

const fields = (value: unknown) => answerFields(value, { cloud: 'hetzner', operation: 'GET /servers' });

describe('the fields of an answer', () => {
  it('reads ids, numbers, texts, flags, lists and objects as they are', () => {
    const one = fields({
      id: 42,
      name: 'n',
      on: false,
      nets: [{ ip: 'a' }],
      tags: ['x'],
      labels: { a: 'b' },
      place: {},
    });
    assert.deepEqual([one.id('id'), one.number('id'), one.text('name'), one.flag('on')], ['42', 42, 'n', false]);
    assert.deepEqual([one.objects('nets')[0]?.text('ip'), one.texts('tags')], ['a', ['x']]);
    assert.deepEqual([one.labels('labels'), one.labels('more')], [{ a: 'b' }, {}]);
    assert.ok(one.optionalObject('place'));
  });

  it('reads optional fields that are null or missing as undefined', () => {
    const one = fields({ a: null, empty: '' });
    for (const name of ['a', 'b']) {
      assert.equal(one.optionalText(name), undefined);
      assert.equal(one.optionalNumber(name), undefined);
      assert.equal(one.optionalObject(name), undefined);
    }
    assert.equal(one.optionalText('empty'), undefined);
  });

  it('reads addresses in one spelling, times, and tags of a list', () => {
    const tags = [{ Key: 'a', Value: 'b' }, { Key: 'c' }];
    const one = fields({ ip: '2001:DB8:0::1', at: '2026-01-01T00:00:00Z', never: 'soon', tags });
    assert.equal(addressIn(one, 'ip'), '2001:db8::1');
    assert.deepEqual(
      ['at', 'never', 'none'].map((name) => timeIn(one, name)),
      [1767225600000, undefined, undefined],
    );
    assert.deepEqual(
      [pairsIn(one, 'tags', ['Key', 'Value']), pairsIn(one, 'none', ['Key', 'Value'])],
      [{ a: 'b', c: '' }, {}],
    );
  });

  it('names fields with secrets without their values, at any depth', () => {
    const place = { cloud: 'gce', operation: 'read', path: 'key.json', secret: true };
    const one = answerFields({ key: ['hush'], source: { url: 7, headers: { a: 1 } } }, place);
    assert.throws(() => one.text('key'), {
      message: 'gce read: key.json.key: a wrong value (not shown), expected a text',
    });
    assert.throws(() => one.text('none'), { message: 'gce read: key.json.none: missing, expected a text' });
    const source = one.object('source');
    assert.throws(() => source.text('url'), {
      message: 'gce read: key.json.source.url: a wrong value (not shown), expected a text',
    });
    assert.throws(() => source.labels('headers'), {
      message: /headers: a wrong value \(not shown\), expected an object of texts$/,
    });
  });

  const wrong: readonly (readonly [string, unknown, (one: AnswerFields) => unknown, RegExp])[] = [
    ['a missing text', {}, (one) => one.text('name'), /answer\.name: missing, expected a text/],
    ['an empty text', { name: '' }, (one) => one.text('name'), /answer\.name: "", expected a text/],
    ['a number for a text', { name: 4 }, (one) => one.optionalText('name'), /answer\.name: 4, expected a text/],
    ['a text for a number', { id: '42' }, (one) => one.id('id'), /answer\.id: "42", expected a number/],
    ['no flag', { on: 'yes' }, (one) => one.flag('on'), /answer\.on: "yes", expected true or false/],
    ['no address', { ip: '10.1.2' }, (one) => addressIn(one, 'ip'), /answer\.ip: "10\.1\.2", expected an IP address/],
    ['another word', { at: 'a' }, (one) => oneOfIn(one, 'at', ['b', 'c']), /answer\.at: "a", expected one of b, c/],
    ['a fraction', { n: 1.5 }, (one) => wholeIn(one, 'n'), /answer\.n: 1\.5, expected a whole number/],
    ['a missing address', {}, (one) => addressIn(one, 'ip'), /answer\.ip: missing, expected a text/],
    ['a list for an object', { net: [] }, (one) => one.object('net'), /answer\.net: \[\], expected an object/],
    ['an object for a list', { nets: {} }, (one) => one.objects('nets'), /answer\.nets: \{\}, expected a list/],
    [
      'a number among texts',
      { tags: ['a', 1] },
      (one) => one.texts('tags'),
      /answer\.tags: 1, expected a list of texts/,
    ],
    [
      'a number among labels',
      { labels: { a: 1 } },
      (one) => one.labels('labels'),
      /answer\.labels: .*an object of texts/,
    ],
    ['a field below', { nets: [{}] }, (one) => one.objects('nets')[0]!.text('ip'), /answer\.nets\.ip: missing/],
  ];
  for (const [name, value, read, message] of wrong)
    it(`${name} is an error that names field, value and what was expected`, () => {
      assert.throws(
        () => read(fields(value)),
        (error: Error & { kind?: string }) => {
          assert.equal(error.kind, 'Invalid');
          assert.match(error.message, message);
          return true;
        },
      );
    });

  it('refuses an answer that is no object', () => {
    for (const value of [undefined, null, [], 'text'])
      assert.throws(() => fields(value), /answer: .*expected an object/);
  });
});
