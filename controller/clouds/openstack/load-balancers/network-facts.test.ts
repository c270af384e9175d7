import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Placement } from '../load-balancer-config.ts';
import { floatingPool, type NetworkFacts, type Subnet } from './network-facts.ts';

const subnet = (id: string, networkId: string, more: Partial<Subnet> = {}): Subnet => ({
  ...{ id, name: id, networkId, cidr: '203.0.113.0/24', version: 4, tags: [] },
  ...more,
});
const facts: NetworkFacts = {
  external: [
    { id: 'empty', name: 'empty', subnetIds: [] },
    { id: 'six', name: 'six', subnetIds: ['s6'] },
    { id: 'public', name: 'public', subnetIds: ['blue-1', 'blue-2', 'red'] },
    { id: 'hidden', name: 'hidden', subnetIds: ['h1'] },
  ],
  subnets: [
    subnet('s6', 'six', { version: 6, cidr: 'fd00::/64' }),
    subnet('blue-1', 'public', { tags: ['a'] }),
    subnet('blue-2', 'public', { tags: ['a', 'b'] }),
    subnet('red', 'public', { tags: ['b'] }),
  ],
};

describe('where a floating IP comes from', () => {
  for (const [what, placement, full, expected] of [
    ['nothing said: the first external network with a subnet of IPv4', {}, [], 'public undefined'],
    ['a network', { floatingNetworkId: 'hidden' }, [], 'hidden undefined'],
    ['a subnet, which tells its network', { floatingSubnetId: 'red' }, [], 'public red'],
    [
      'a subnet that is not seen, in a network that is named',
      { floatingNetworkId: 'hidden', floatingSubnetId: 'h1' },
      [],
      'hidden h1',
    ],
    [
      'a subnet of another network',
      { floatingNetworkId: 'hidden', floatingSubnetId: 'red' },
      [],
      'subnet red is not of network hidden',
    ],
    ['a pattern', { floatingSubnet: 'blue-*' }, [], 'public blue-1'],
    ['a pattern, the first being full', { floatingSubnet: 'blue-*' }, ['blue-1'], 'public blue-2'],
    [
      'a pattern, all being full',
      { floatingSubnet: 'blue-*' },
      ['blue-1', 'blue-2'],
      'no subnet that fits blue-* has an address left',
    ],
    ['tags', { floatingSubnetTags: '&a,b' }, [], 'public blue-2'],
    ['tags and a pattern', { floatingSubnet: '!blue-*', floatingSubnetTags: 'b' }, [], 'public red'],
    [
      'a pattern that fits none',
      { floatingSubnet: 'green' },
      [],
      'no subnet of network public that this project may see fits green',
    ],
  ] as const satisfies readonly (readonly [string, Placement, readonly string[], string])[]) {
    it(what, () => {
      const pool = floatingPool(placement, facts, full);
      assert.equal('problem' in pool ? pool.problem : `${pool.networkId} ${pool.subnetId}`, expected);
    });
  }

  it('a network whose subnets this project may not see is taken for one of IPv4', () => {
    const pool = floatingPool({}, { ...facts, external: facts.external.slice(3) }, []);
    assert.deepEqual(pool, { networkId: 'hidden', subnetId: undefined });
  });

  it('none at all', () => {
    assert.ok('problem' in floatingPool({}, { external: facts.external.slice(0, 2), subnets: facts.subnets }, []));
  });
});
