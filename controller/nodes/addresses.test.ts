import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import type { AddressView } from '../model/node-view.ts';
import {
  canonicalAddress,
  dedupe,
  droppedAddresses,
  parseProvidedNodeIP,
  preferProvided,
  sameAddresses,
  withHostnames,
} from './addresses.ts';

function list(text: string): AddressView[] {
  return text
    .split(' ')
    .filter(Boolean)
    .map((part) => {
      const [type = '', address = ''] = part.split('=');
      const types: Record<string, string> = {
        int: 'InternalIP',
        ext: 'ExternalIP',
        host: 'Hostname',
        idns: 'InternalDNS',
        edns: 'ExternalDNS',
      };
      return { type: types[type] ?? type, address };
    });
}
const short = (addresses: readonly AddressView[]) =>
  addresses.map(({ type, address }) => `${type}=${address}`).join(' ');

describe('addresses by provided-node-ip', () => {
  // Upstream's fourteen (k8s.io/cloud-provider, node/helpers/address_test.go), in its order of ideas.
  const cases: readonly [string, string, string, string | 'error'][] = [
    ['a single internal one', '10.1.1.1', 'int=10.1.1.1 host=h', 'int=10.1.1.1 host=h'],
    [
      'an external one, which then comes first',
      '55.55.55.55',
      'int=10.1.1.1 ext=55.55.55.55 host=h',
      'ext=55.55.55.55 int=10.1.1.1 host=h',
    ],
    [
      'one that stands under two types',
      '10.1.1.1',
      'int=10.1.1.1 ext=10.1.1.1 host=h',
      'int=10.1.1.1 ext=10.1.1.1 host=h',
    ],
    [
      'DNS names are kept',
      '10.1.1.1',
      'int=10.1.1.1 ext=10.1.1.1 host=h idns=i.x edns=e.x',
      'int=10.1.1.1 ext=10.1.1.1 host=h idns=i.x edns=e.x',
    ],
    [
      'several internal ones: only the provided stays',
      '10.1.1.1',
      'int=10.1.1.1 int=10.2.2.2 int=10.3.3.3 ext=55.55.55.55 host=h',
      'int=10.1.1.1 ext=55.55.55.55 host=h',
    ],
    ['one that the cloud does not know', '10.2.2.2', 'int=10.1.1.1 host=h', 'error'],
    [
      'one that is spelled differently',
      '2600:1f14:1d4:d101:0:0:0:ba3d',
      'int=2600:1f14:1d4:d101::ba3d host=h',
      'int=2600:1f14:1d4:d101::ba3d host=h',
    ],
    ['a pair where the cloud has one family', '10.1.1.1,2001:db8::1', 'int=10.1.1.1 host=h', 'error'],
    [
      'a pair, IPv4 first',
      '10.1.1.1,2001:db8::1',
      'int=2001:db8::1 int=10.1.1.1 host=h',
      'int=10.1.1.1 int=2001:db8::1 host=h',
    ],
    [
      'a pair, IPv6 first',
      '2001:db8::1,10.1.1.1',
      'int=10.1.1.1 int=2001:db8::1 host=h',
      'int=2001:db8::1 int=10.1.1.1 host=h',
    ],
    [
      'a pair beside another external one',
      '10.1.1.1,2001:db8::1',
      'int=10.1.1.1 int=10.2.2.2 int=2001:db8::1 ext=55.55.55.55',
      'int=10.1.1.1 int=2001:db8::1 ext=55.55.55.55',
    ],
    [
      'a pair of an internal and an external one closes both types',
      '10.1.1.1,2001:db8::1',
      'int=10.1.1.1 int=10.2.2.2 ext=2001:db8::1 ext=55.55.55.55 host=h',
      'int=10.1.1.1 ext=2001:db8::1 host=h',
    ],
    [
      'one IPv6 address on dual stack: its type is closed to the other family',
      '2001:db8::1',
      'int=10.1.1.1 int=2001:db8::1 host=h',
      'int=2001:db8::1 host=h',
    ],
    [
      'one external IPv6 address: internal ones stay',
      '2001:db8::1',
      'int=10.1.1.1 ext=2001:db8::1 ext=55.55.55.55',
      'ext=2001:db8::1 int=10.1.1.1',
    ],
  ];
  for (const [name, provided, cloud, expected] of cases) {
    it(name, () => {
      const parsed = parseProvidedNodeIP(provided);
      assert.ok(parsed.ok);
      const chosen = preferProvided(list(cloud), parsed.ips);
      if (expected === 'error') assert.equal(chosen.ok, false);
      else assert.deepEqual(chosen.ok && short(chosen.addresses), short(list(expected)));
    });
  }

  it('keeps all addresses of the cloud in their order without a provided node IP', () => {
    const chosen = preferProvided(list('ext=1.1.1.1 int=10.1.1.1 int=10.1.1.2'), []);
    assert.deepEqual(chosen.ok && chosen.addresses, list('ext=1.1.1.1 int=10.1.1.1 int=10.1.1.2'));
  });
});

describe('provided-node-ip', () => {
  for (const [text, ips] of [
    ['10.0.0.1', ['10.0.0.1']],
    ['FD00:0:0:0:0:0:0:1', ['fd00::1']],
    ['10.0.0.1,fd00::1', ['10.0.0.1', 'fd00::1']],
    ['fd00::1,10.0.0.1', ['fd00::1', '10.0.0.1']],
    ['0.0.0.0', ['0.0.0.0']],
  ] as const) {
    it(`reads ${text}`, () => assert.deepEqual(parseProvidedNodeIP(text), { ok: true, ips }));
  }
  for (const text of [
    '',
    ' 10.0.0.1',
    '10.0.0.1 ',
    '10.0.0.1, fd00::1',
    '10.0.0.1,',
    ',',
    '10.0.0.1,10.0.0.2',
    'fd00::1,fd00::2',
    '10.0.0.1,fd00::1,10.0.0.2',
    '0.0.0.0,fd00::1',
    '10.0.0.1,::',
    'host',
    '10.0.0',
    '010.0.0.1',
    '0x0a.0.0.1',
    '167772161',
    'fe80::1%eth0',
    '10.0.0.1/24',
    '[fd00::1]',
  ]) {
    it(`refuses ${JSON.stringify(text)} and names it`, () => {
      const parsed = parseProvidedNodeIP(text);
      assert.ok(!parsed.ok && parsed.message.startsWith(JSON.stringify(text)));
    });
  }

  it('never throws, and accepts only one or two canonical addresses', () => {
    const texts = fc.oneof(
      fc.string(),
      fc.ipV4(),
      fc.ipV6(),
      fc.tuple(fc.ipV4(), fc.ipV6()).map((pair) => pair.join(',')),
      fc.stringMatching(/^[0-9a-f:.,% ]{0,40}$/),
    );
    fc.assert(
      fc.property(texts, (text) => {
        const parsed = parseProvidedNodeIP(text);
        if (!parsed.ok) return;
        assert.ok(parsed.ips.length === 1 || parsed.ips.length === 2);
        for (const ip of parsed.ips) assert.equal(canonicalAddress(ip), ip);
        if (parsed.ips.length === 2) assert.notEqual(parsed.ips[0]?.includes(':'), parsed.ips[1]?.includes(':'));
      }),
      { numRuns: 2000, seed: 7 },
    );
  });
});

const someAddress: fc.Arbitrary<AddressView> = fc.record({
  type: fc.constantFrom('InternalIP', 'ExternalIP', 'Hostname'),
  address: fc.constantFrom('10.0.0.1', '10.0.0.2', 'fd00::1', 'FD00:0::1', 'fd00::2', 'host-a', 'host-b'),
});
const someAddresses = fc.array(someAddress, { maxLength: 8 });
const key = ({ type, address }: AddressView) => `${type} ${canonicalAddress(address)}`;

describe('a list of addresses', () => {
  // Upstream's comparison keeps one address a type, so two of one type always look changed; ours counts all of them.
  for (const [name, a, b, same] of [
    ['equal', 'int=10.0.0.1 host=h', 'int=10.0.0.1 host=h', true],
    ['reordered', 'int=10.0.0.1 host=h', 'host=h int=10.0.0.1', true],
    ['two of one type reordered', 'int=10.0.0.1 int=fd00::1', 'int=fd00::1 int=10.0.0.1', true],
    ['another spelling', 'int=fd00::1', 'int=FD00:0:0::1', true],
    ['one changed', 'int=10.0.0.1 host=h', 'int=10.0.0.2 host=h', false],
    ['one more', 'int=10.0.0.1', 'int=10.0.0.1 host=h', false],
    ['one less', 'int=10.0.0.1 host=h', 'int=10.0.0.1', false],
    ['values swapped between types', 'int=10.0.0.1 ext=10.0.0.2', 'int=10.0.0.2 ext=10.0.0.1', false],
    [
      'same set, other counts',
      'int=10.0.0.1 int=10.0.0.1 int=10.0.0.2',
      'int=10.0.0.1 int=10.0.0.2 int=10.0.0.2',
      false,
    ],
  ] as const) {
    it(`takes lists of addresses for ${same ? 'the same' : 'different'}: ${name}`, () =>
      assert.equal(sameAddresses(list(a), list(b)), same));
  }

  it('compares lists of addresses as multisets', () => {
    fc.assert(
      fc.property(someAddresses, someAddresses, (a, b) => {
        const count = (addresses: readonly AddressView[]) => JSON.stringify(addresses.map(key).sort());
        assert.equal(sameAddresses(a, b), count(a) === count(b));
        assert.ok(sameAddresses(a, [...a].reverse()));
      }),
      { numRuns: 2000, seed: 8 },
    );
  });

  for (const [given, expected] of [
    ['int=10.0.0.1 int=10.0.0.1', 'int=10.0.0.1'],
    ['int=10.0.0.1 ext=10.0.0.1', 'int=10.0.0.1 ext=10.0.0.1'],
    ['int=fd00::1 int=FD00::1 int=10.0.0.1', 'int=fd00::1 int=10.0.0.1'],
    ['', ''],
  ] as const) {
    it(`drops the duplicates of ${given || 'nothing'}`, () => assert.deepEqual(dedupe(list(given)), list(expected)));
  }

  it('keeps the first occurrence of each address', () => {
    fc.assert(
      fc.property(someAddresses, (a) => {
        const once = dedupe(a);
        assert.equal(new Set(once.map(key)).size, once.length);
        assert.deepEqual(once.map(key), [...new Set(a.map(key))]);
      }),
      { seed: 9 },
    );
  });

  it('never invents an address and never drops a whole address type for a node IP', () => {
    fc.assert(
      fc.property(someAddresses, fc.constantFrom('10.0.0.1', 'fd00::1', '10.0.0.1,fd00::2'), (cloud, provided) => {
        const parsed = parseProvidedNodeIP(provided);
        assert.ok(parsed.ok);
        const chosen = preferProvided(cloud, parsed.ips);
        if (!chosen.ok) return;
        const known = new Set(cloud.map(key));
        for (const each of chosen.addresses) assert.ok(known.has(key(each)));
        assert.deepEqual(new Set(chosen.addresses.map(({ type }) => type)), new Set(cloud.map(({ type }) => type)));
        assert.equal(canonicalAddress(chosen.addresses[0]?.address ?? ''), parsed.ips[0]);
      }),
      { numRuns: 2000, seed: 10 },
    );
  });

  it('keeps the kubelet’s Hostname only where the cloud lists none', () => {
    assert.deepEqual(withHostnames(list('int=10.0.0.1'), list('int=10.9.9.9 host=k')), list('int=10.0.0.1 host=k'));
    assert.deepEqual(withHostnames(list('int=10.0.0.1 host=c'), list('host=k')), list('int=10.0.0.1 host=c'));
  });

  it('returns the addresses that the other list lacks', () => {
    assert.deepEqual(
      droppedAddresses(list('int=fd00::1 int=10.0.0.1 ext=1.1.1.1'), list('int=FD00::1')),
      list('int=10.0.0.1 ext=1.1.1.1'),
    );
  });

  it('spells each address in one way', () => {
    for (const [text, canonical] of [
      ['2001:DB8:0:0:0:0:0:1', '2001:db8::1'],
      ['::FFFF:10.0.0.1', '::ffff:a00:1'],
      ['10.0.0.1', '10.0.0.1'],
      ['010.0.0.1', '010.0.0.1'],
      ['1', '1'],
      ['host', 'host'],
    ]) {
      assert.equal(canonicalAddress(text!), canonical);
    }
  });
});
