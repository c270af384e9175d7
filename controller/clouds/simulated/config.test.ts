import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CloudConfigError } from '../cloud.ts';
import { parseSimulatedConfig } from './config.ts';

const whole = { endpoint: 'http://127.0.0.1:8080', project: 'demo', region: 'sim-1', credential: 'sim-demo-1' };

function parse(fields: Record<string, unknown>) {
  return parseSimulatedConfig({ path: 'cloud.yaml', text: JSON.stringify(fields) });
}

test('a whole file is read, without the slash at the end of the endpoint', () => {
  const text =
    'endpoint: https://cloud.example/base/\nproject: demo\nregion: sim-1\ncredentialFile: secret # beside it\n';
  assert.deepEqual(parseSimulatedConfig({ path: 'cloud.yaml', text }), {
    endpoint: 'https://cloud.example/base',
    project: 'demo',
    region: 'sim-1',
    credential: { file: 'secret' },
  });
  assert.deepEqual(parse(whole).credential, { text: 'sim-demo-1' });
});

test('limits of the cloud are read where they are set', () => {
  const { maxMembers, settleMs } = parse({ ...whole, maxMembers: 250, settleSeconds: 0 });
  assert.deepEqual([maxMembers, settleMs], [250, 0]);
});

test('a file without a credential is read as such', () => {
  const { credential: _, ...rest } = whole;
  assert.equal(parse(rest).credential, undefined);
});

const refused: [string, Record<string, unknown>, RegExp][] = [
  ['an unknown key', { ...whole, regoin: 'x' }, /unknown key "regoin", expected endpoint, project, region/],
  ['a missing endpoint', { ...whole, endpoint: undefined }, /endpoint: missing, expected an http or https URL/],
  [
    'an endpoint of another kind',
    { ...whole, endpoint: 'ftp://cloud' },
    /endpoint: a wrong value \(not shown\), expected/,
  ],
  ['an endpoint with a query', { ...whole, endpoint: 'http://cloud/?a=b' }, /without user, query and fragment/],
  ['a project that is a number', { ...whole, project: 7 }, /project: 7, expected a name/],
  ['a region with a slash', { ...whole, region: 'a/b' }, /region: "a\/b", expected a name/],
  ['a cap of no members', { ...whole, maxMembers: 0 }, /maxMembers: 0, expected a whole number from 1/],
  ['a time that is a text', { ...whole, settleSeconds: '5s' }, /settleSeconds: "5s", expected a whole number from 0/],
  ['two credentials', { ...whole, credentialFile: 'x' }, /credential and credentialFile exclude each other/],
];

for (const [what, fields, message] of refused) {
  test(`${what} is refused by name`, () => {
    assert.throws(
      () => parse(fields),
      (error) => error instanceof CloudConfigError && message.test(error.message),
    );
  });
}

test('a credential is never repeated in a message', () => {
  for (const fields of [
    { ...whole, credential: 'hidden\nhidden' },
    { ...whole, credential: ['hidden'] },
    { ...whole, endpoint: 'http://user:hidden@cloud' },
    { ...whole, endpoint: 'ftp://:hidden@cloud' },
  ]) {
    assert.throws(
      () => parse(fields),
      (error) => error instanceof CloudConfigError && !error.message.includes('hidden'),
    );
  }
});

test('a text that is no YAML, or a key that is no text, is never shown by the parser', async () => {
  const warnings: string[] = [];
  const listen = ({ message }: Error) => warnings.push(message);
  process.on('warning', listen);
  for (const text of ['credential: *hidden\n', '{other: x}: y\n', 'credential: "hidden\n', 'credential: !hidden x\n'])
    assert.throws(
      () => parseSimulatedConfig({ path: 'cloud.yaml', text }),
      (error) => error instanceof CloudConfigError && !error.message.includes('hidden'),
      text,
    );
  await new Promise((resolve) => setImmediate(resolve));
  process.off('warning', listen);
  assert.deepEqual(warnings, []);
});

test('text that is no mapping is refused with the path of its file', () => {
  for (const text of ['', '- a\n', 'just words', 'a: [', 'endpoint: 1\nendpoint: 2\n']) {
    assert.throws(() => parseSimulatedConfig({ path: 'cloud.yaml', text }), {
      name: 'CloudConfigError',
      message: /^cloud\.yaml: /,
    });
  }
});
