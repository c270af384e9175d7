import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { CloudConfigError } from './cloud.ts';
import { layered, parseGcfg, readSection, unknownKeys } from './gcfg.ts';

const cloudConf = `# OpenStack
[Global]
auth-url = "https://keystone.example:5000/v3"
Username=k8s ; who
password = "p#a;s \\"s\\\\ "
tls-insecure
tenant-name =   two words   # a comment
region=

[Networking]
public-network-name = public
public-network-name = "second public"

[LoadBalancerClass "Internal.A"]
subnet-id = a
[global]
region = RegionOne
`;

describe('parseGcfg', () => {
  it('reads sections, quotes, escapes, comments and bare keys', () => {
    const file = parseGcfg(cloudConf, 'cloud.conf');
    const global = readSection(file, 'Global');
    assert.equal(global.text('auth-url'), 'https://keystone.example:5000/v3');
    assert.equal(global.text('username'), 'k8s');
    assert.equal(global.text('password'), 'p#a;s "s\\ ');
    assert.equal(global.boolean('tls-insecure'), true);
    assert.equal(global.text('tenant-name'), 'two words');
  });

  it('joins sections of one name whatever their case, the last value of a key winning', () => {
    assert.equal(readSection(parseGcfg(cloudConf, 'cloud.conf'), 'Global').text('region'), 'RegionOne');
  });

  it('keeps repeated keys as a list and dots in a subsection', () => {
    const file = parseGcfg(cloudConf, 'cloud.conf');
    assert.deepEqual(readSection(file, 'networking').list('public-network-name'), ['public', 'second public']);
    assert.equal(readSection(file, 'loadbalancerclass', 'Internal.A').text('subnet-id'), 'a');
    assert.equal(readSection(file, 'loadbalancerclass', 'internal.a').text('subnet-id'), undefined);
  });

  it('joins a line that ends in a backslash with the next', () => {
    assert.equal(readSection(parseGcfg('[a]\nk = one \\\n  two\n', 'f'), 'a').text('k'), 'one   two');
  });

  it('accepts a file with CRLF and a byte order mark', () => {
    assert.equal(readSection(parseGcfg('\uFEFF[a]\r\nk = v\r\n', 'f'), 'a').text('k'), 'v');
  });

  const bad: readonly [string, string, RegExp][] = [
    ['key before a section', 'k = v', /^f line 1: k: stands before the first \[section\]$/],
    ['unclosed section', '[a\nk = v', /^f line 1: section header/],
    ['text after a section', '[a] k = v', /^f line 1: section header/],
    ['unclosed quote', '[a]\n\npassword = "secret', /^f line 3: password: the closing quote is missing$/],
    ['unknown escape', '[a]\nk = \\x', /^f line 2: k: unknown escape \\x/],
    ['no equals sign', '[a]\nk v', /^f line 2: k: expected "="/],
    ['no key', '[a]\n= v', /^f line 2: expected key = value$/],
  ];
  for (const [name, text, message] of bad) {
    it(`refuses ${name}, naming the line`, () => {
      assert.throws(
        () => parseGcfg(text, 'f'),
        (error) => error instanceof CloudConfigError && message.test(error.message),
      );
    });
  }

  it('gives back every value that was quoted', () => {
    const anyText = fc.string({ unit: fc.constantFrom('a', ' ', '"', '\\', ';', '#', '\t', '\n', '=', '[', 'é') });
    fc.assert(
      fc.property(anyText, (value) => {
        const quoted = value.replace(/[\\"]/g, '\\$&').replaceAll('\n', '\\n');
        const read = readSection(parseGcfg(`[s]\nk = "${quoted}" ; c\n`, 'f'), 's').list('k');
        assert.deepEqual(read, value === '' ? [] : [value]);
      }),
    );
  });
});

describe('readSection', () => {
  const read = (line: string) => readSection(parseGcfg(`[s]\n${line}\n`, 'f'), 's');

  it('reads booleans in all spellings of gcfg', () => {
    for (const word of ['true', 'YES', 'on', '1']) assert.equal(read(`k = ${word}`).boolean('k'), true);
    for (const word of ['false', 'No', 'off', '0']) assert.equal(read(`k = ${word}`).boolean('k'), false);
    assert.throws(
      () => read('k = maybe').boolean('k'),
      /^CloudConfigError: f line 2: \[s\] k: "maybe", expected true or false/,
    );
  });

  it('reads Go durations and refuses a bare number', () => {
    assert.equal(read('k = 1m30s').durationMs('k'), 90_000);
    assert.equal(read('k = 500ms').durationMs('k'), 500);
    assert.equal(read('k = 1.5h').durationMs('k'), 5_400_000);
    assert.throws(() => read('k = 60').durationMs('k'), /"60", expected a duration/);
  });

  it('refuses a bare key where a value is needed', () => {
    assert.throws(() => read('k').text('k'), /\[s\] k: expected a value/);
  });
});

describe('typed values of a section', () => {
  const file = parseGcfg(
    '[A]\nwords = b, ,c,\nwords = d\ncidrs = 10.0.0.0/8,fd00::/8\nnumber = 70\nbad = x\n[B]\nwords = z\nempty =\n',
    'f',
  );
  const section = readSection(file, 'A');

  it('reads words between commas, CIDRs, whole numbers and one of several', () => {
    assert.deepEqual(section.words('words'), ['b', 'c', 'd']);
    assert.deepEqual(section.choices('words', ['b', 'c', 'd']), ['b', 'c', 'd']);
    assert.deepEqual(
      section.cidrs('cidrs').map(([range, bits]) => `${range}/${bits}`),
      ['10.0.0.0/8', 'fd00::/8'],
    );
    assert.deepEqual([section.integer('number', 70), section.integer('none', 9)], [70, undefined]);
  });

  it('refuses values with what was expected', () => {
    assert.throws(() => section.cidrs('bad'), /f line 6: \[A\] bad: "x", expected a CIDR/);
    assert.throws(() => section.integer('bad', 9), /"x", expected a whole number up to 9/);
    assert.throws(() => section.integer('number', 69), /"70", expected a whole number up to 69/);
    assert.throws(() => section.choices('words', ['b', 'c']), /"d", expected b or c/);
  });

  it('takes a value from the first of several sections that has the key', () => {
    const both = layered(readSection(file, 'B'), section);
    assert.deepEqual([both.words('words'), both.text('number'), both.has('empty')], [['z'], '70', false]);
    assert.match(both.error('number', 'p').message, /\[A\] number/);
    assert.match(both.error('nowhere', 'p').message, /\[B\] nowhere/);
  });
});

describe('unknownKeys', () => {
  it('names unknown sections and keys, once', () => {
    const file = parseGcfg('[global]\nregion=a\nRegoin=b\nregoin=c\n[Manila]\nx=1\n[BlockStorage]\nx=1\n', 'f');
    const known = new Map<string, ReadonlySet<string> | 'any'>([
      ['global', new Set(['region'])],
      ['blockstorage', 'any'],
    ]);
    assert.deepEqual(unknownKeys(file, known), ['[global] regoin', '[manila]']);
  });
});
