import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { type Consent, claimantOf, consentFor, parseConsent, parseHolder, printConsent } from './consent.ts';

const uid = '6f1c0a8e-3b5d-4c7e-9f20-1a2b3c4d5e6f';
const other = '00000000-0000-4000-8000-000000000000';
const shop = claimantOf(uid, 'shop/web');

const cases: [string, string | readonly string[] | undefined, ReturnType<typeof consentFor>][] = [
  ['no tag gives no consent', undefined, 'none'],
  ['an empty tag gives no consent', '', 'none'],
  ['the namespace of the Service gives consent', `${uid}/shop`, 'named'],
  ['the Service itself gives consent', `${uid}/shop/web`, 'named'],
  ['another namespace gives no consent', `${uid}/evil`, 'none'],
  ['a namespace with the same beginning gives no consent', `${uid}/sho`, 'none'],
  ['another Service of the namespace gives no consent', `${uid}/shop/api`, 'none'],
  ['the namespace in another cluster gives no consent', `${other}/shop`, 'none'],
  ['the cluster alone means every namespace', uid, 'cluster-wide'],
  ['another cluster alone gives no consent', other, 'none'],
  ['one of several values, separated by white space, gives consent', `${uid}/a ${uid}/shop`, 'named'],
  ['one of several values, separated by a comma, gives consent', `${uid}/a,${uid}/shop/web`, 'named'],
  ['one of several tags gives consent', [`${uid}/a`, `${uid}/shop`], 'named'],
  ['a value that names the namespace goes before the cluster alone', `${uid} ${uid}/shop`, 'named'],
  ['a trailing slash does not mean every namespace', `${uid}/`, 'none'],
  ['a namespace that is no DNS label gives no consent', `${uid}/*`, 'none'],
  ['an unreadable value does not void the others', `${uid}/a/b/c ${uid}/shop`, 'named'],
];

for (const [title, value, expected] of cases) {
  test(title, () => assert.equal(consentFor(value, shop), expected));
}

test('an unreadable entry is returned as written', () => {
  const { consents, unreadable } = parseConsent(`${uid}/Shop, ${uid}/a//b /shop ${uid}/shop/`);
  assert.deepEqual(consents, []);
  assert.deepEqual(unreadable, [`${uid}/Shop`, `${uid}/a//b`, '/shop', `${uid}/shop/`]);
});

test('a holder is a namespace or a Service', () => {
  assert.deepEqual(parseHolder('shop'), { namespace: 'shop', name: undefined });
  assert.deepEqual(parseHolder('shop/web'), { namespace: 'shop', name: 'web' });
  for (const text of ['', '/', '/web', 'shop/', 'a/b/c', 'Shop', '-a', 'a'.repeat(64)]) {
    assert.equal(parseHolder(text), undefined, text);
  }
});

const labels = fc.stringMatching(/^[a-z0-9]([-a-z0-9]{0,20}[a-z0-9])?$/);
const someConsent: fc.Arbitrary<Consent> = fc.oneof(
  fc.uuid().map((cluster): Consent => ({ cluster, namespace: undefined, name: undefined })),
  fc
    .tuple(fc.uuid(), labels, fc.option(labels, { nil: undefined }))
    .map(([cluster, namespace, name]): Consent => ({ cluster, namespace, name })),
);

test('a printed consent parses again with any separator', () => {
  fc.assert(
    fc.property(fc.array(someConsent), fc.constantFrom(',', ' ', ', ', '\n'), (entries, separator) => {
      const { consents, unreadable } = parseConsent(entries.map(printConsent).join(separator));
      assert.deepEqual([consents, unreadable], [entries, []]);
    }),
  );
});

test('only the whole entries of its cluster, namespace and name give a Service consent', () => {
  const piece = fc.constantFrom(uid, other, 'shop', 'web', 'evil', '/', '/', ',', ' ', '\t', '.', '-', 'S');
  fc.assert(
    fc.property(fc.array(piece), (pieces) => {
      const entries = pieces.join('').split(/[ ,\t]/);
      const named = entries.includes(`${uid}/shop`) || entries.includes(`${uid}/shop/web`);
      const expected = named ? 'named' : entries.includes(uid) ? 'cluster-wide' : 'none';
      assert.equal(consentFor(pieces.join(''), shop), expected);
    }),
    { numRuns: 1000 },
  );
});
