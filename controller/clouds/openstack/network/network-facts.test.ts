import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { CloudError } from '../../../../common/cloud-error.ts';
import { fakeClock } from '../../../../common/testing/fake-clock.ts';
import type { Placement } from '../load-balancer-config.ts';
import { createNetworkFacts, floatingPools, type NetworkFacts, type Subnet } from './network-facts.ts';
import type { Neutron } from './neutron.ts';

const subnet = (id: string, networkId: string, more: Partial<Subnet> = {}): Subnet => ({
  id,
  name: id,
  networkId,
  cidr: '203.0.113.0/24',
  version: 4,
  tags: [],
  ...more,
});
const facts: NetworkFacts = {
  external: [
    { id: 'empty', subnetIds: [] },
    { id: 'six', subnetIds: ['s6'] },
    { id: 'public', subnetIds: ['blue-1', 'blue-2', 'red'] },
    { id: 'hidden', subnetIds: ['h1'] },
  ],
  subnets: [
    subnet('s6', 'six', { version: 6, cidr: 'fd00::/64' }),
    subnet('blue-1', 'public', { tags: ['a'] }),
    subnet('blue-2', 'public', { tags: ['a', 'b'] }),
    subnet('red', 'public', { tags: ['b'] }),
  ],
};

const textOf = (placement: Placement, among = facts) => {
  const pools = floatingPools(placement, among);
  return 'problem' in pools
    ? pools.problem
    : pools.map(({ networkId, subnetId }) => `${networkId} ${subnetId}`).join(', ');
};

describe('where a floating IP comes from', () => {
  for (const [what, placement, expected] of [
    ['takes the first external network with a subnet of IPv4 where nothing is said', {}, 'public undefined'],
    ['takes a network that is named', { floatingNetworkId: 'hidden' }, 'hidden undefined'],
    ['takes a subnet that is named, which tells its network', { floatingSubnetId: 'red' }, 'public red'],
    [
      'takes a subnet that is not visible, in a network that is named',
      { floatingNetworkId: 'hidden', floatingSubnetId: 'h1' },
      'hidden h1',
    ],
    [
      'refuses a subnet of another network',
      { floatingNetworkId: 'hidden', floatingSubnetId: 'red' },
      'subnet red is not of network hidden',
    ],
    ['takes each subnet that fits a pattern, in turn', { floatingSubnet: 'blue-*' }, 'public blue-1, public blue-2'],
    ['takes the subnet that has all tags', { floatingSubnetTags: '&a,b' }, 'public blue-2'],
    [
      'takes the subnet that fits tags and a pattern',
      { floatingSubnet: '!blue-*', floatingSubnetTags: 'b' },
      'public red',
    ],
    [
      'refuses a pattern that no subnet fits',
      { floatingSubnet: 'green' },
      'no subnet of network public that this project may see fits green',
    ],
  ] as const satisfies readonly (readonly [string, Placement, string])[]) {
    it(what, () => assert.equal(textOf(placement), expected));
  }

  it('takes an external network whose subnets this project cannot see', () => {
    assert.equal(textOf({}, { ...facts, external: facts.external.slice(3) }), 'hidden undefined');
  });

  it('finds no network for a floating IP without an external one that has an IPv4 subnet', () => {
    assert.match(textOf({}, { ...facts, external: facts.external.slice(0, 2) }), /no external network/);
  });
});

describe('what there is of networks', () => {
  const factsAfter = (cause: unknown) => {
    const error = new CloudError({
      kind: 'Invalid',
      cloud: 'openstack',
      operation: 'GET /networks',
      message: 'x',
      cause,
    });
    const list: Neutron['list'] = async (collection) => {
      if (collection === 'networks') throw error;
      return [];
    };
    return createNetworkFacts({ list } as Neutron, fakeClock());
  };

  it('takes a Neutron that does not know external networks for one without them', async () => {
    const facts = factsAfter({ status: 400 });
    await facts.read({});
    assert.deepEqual(facts.last, { external: [], subnets: [] });
  });

  it('refuses an answer without the list of networks, and keeps what it knows', async () => {
    const facts = factsAfter(undefined);
    await assert.rejects(facts.read({}), { kind: 'Invalid' });
    assert.equal(facts.last, undefined);
  });
});
