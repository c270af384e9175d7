import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { chooseSubnets, type Subnet, type SubnetRequest } from './subnets.ts';

const cluster = { 'kubernetes.io/cluster/c1': 'owned' };
const isCluster = (tags: Subnet['tags']) => 'kubernetes.io/cluster/c1' in tags;

function subnet(id: string, zone: string, fields: Partial<Subnet> = {}): Subnet {
  return { id, zone, cidrs: ['10.0.0.0/24'], ipv6Cidrs: [], public: true, tags: {}, ...fields };
}

function request(fields: Partial<SubnetRequest> = {}): SubnetRequest {
  return { internal: false, named: [], ipv6: false, isCluster, ...fields };
}

function idsOf(subnets: readonly Subnet[], fields: Partial<SubnetRequest> = {}): readonly string[] | string {
  const choice = chooseSubnets(subnets, request(fields));
  return 'problem' in choice ? choice.problem : choice.subnets.map(({ id }) => id);
}

describe('chooseSubnets', () => {
  const roleTag = { 'kubernetes.io/role/elb': '1' };
  const cases: readonly [string, readonly Subnet[], Partial<SubnetRequest>, readonly string[] | RegExp][] = [
    [
      'one a zone, in the order of the zones',
      [subnet('subnet-2', 'eu-west-1b'), subnet('subnet-1', 'eu-west-1a')],
      {},
      ['subnet-1', 'subnet-2'],
    ],
    ['the lowest id of a zone', [subnet('subnet-2', 'eu-west-1a'), subnet('subnet-1', 'eu-west-1a')], {}, ['subnet-1']],
    [
      "the cluster's before the lowest id",
      [subnet('subnet-1', 'eu-west-1a'), subnet('subnet-2', 'eu-west-1a', { tags: cluster })],
      {},
      ['subnet-2'],
    ],
    [
      "the role's before the cluster's",
      [subnet('subnet-1', 'eu-west-1a', { tags: cluster }), subnet('subnet-2', 'eu-west-1a', { tags: roleTag })],
      {},
      ['subnet-2'],
    ],
    [
      'no private one for a public load balancer',
      [subnet('subnet-1', 'eu-west-1a', { public: false })],
      {},
      /no public subnet/,
    ],
    [
      'a private one for an internal load balancer',
      [subnet('subnet-1', 'eu-west-1a', { public: false })],
      { internal: true },
      ['subnet-1'],
    ],
    [
      "none of another cluster's",
      [subnet('subnet-1', 'eu-west-1a', { tags: { 'kubernetes.io/cluster/c2': 'owned' } })],
      {},
      /no public subnet of this cluster/,
    ],
    [
      'one that several clusters share',
      [subnet('subnet-1', 'eu-west-1a', { tags: { ...cluster, 'kubernetes.io/cluster/c2': 'shared' } })],
      {},
      ['subnet-1'],
    ],
    [
      'no local or wavelength zone',
      [
        subnet('subnet-1', 'us-west-2-lax-1a'),
        subnet('subnet-2', 'us-east-1-wl1-bos-wlz-1'),
        subnet('subnet-3', 'us-west-2b'),
      ],
      {},
      ['subnet-3'],
    ],
    [
      'those named, by id and by Name',
      [subnet('subnet-1', 'eu-west-1b'), subnet('subnet-2', 'eu-west-1a', { public: false, tags: { Name: 'inner' } })],
      { named: ['subnet-1', 'inner'] },
      ['subnet-2', 'subnet-1'],
    ],
    [
      'none for a name that is none',
      [subnet('subnet-1', 'eu-west-1a')],
      { named: ['subnet-9'] },
      /"subnet-9" is no subnet of the VPC/,
    ],
    [
      'none for a name of several',
      [
        subnet('subnet-1', 'eu-west-1a', { tags: { Name: 'x' } }),
        subnet('subnet-2', 'eu-west-1b', { tags: { Name: 'x' } }),
      ],
      { named: ['x'] },
      /names several subnets: subnet-1, subnet-2/,
    ],
    [
      'none for two named in one zone',
      [subnet('subnet-1', 'eu-west-1a'), subnet('subnet-2', 'eu-west-1a')],
      { named: ['subnet-1', 'subnet-2'] },
      /both in eu-west-1a/,
    ],
    [
      'the one of the cloud config where all are of other clusters',
      [
        subnet('subnet-1', 'eu-west-1a', { tags: { 'kubernetes.io/cluster/c2': 'owned' } }),
        subnet('subnet-2', 'eu-west-1b', { tags: { 'kubernetes.io/cluster/c2': 'owned' } }),
      ],
      { fallback: 'subnet-2' },
      ['subnet-2'],
    ],
    [
      'only those with IPv6 where it is asked for',
      [subnet('subnet-1', 'eu-west-1a'), subnet('subnet-2', 'eu-west-1a', { ipv6Cidrs: ['2001:db8::/64'] })],
      { ipv6: true },
      ['subnet-2'],
    ],
  ];
  for (const [what, subnets, fields, expected] of cases) {
    it(`chooses subnets: ${what}`, () => {
      const got = idsOf(subnets, fields);
      if (expected instanceof RegExp) assert.match(String(got), expected);
      else assert.deepEqual(got, expected);
    });
  }

  it('takes one subnet a zone, no forbidden one, whatever their order', () => {
    const some = fc.record({
      zone: fc.constantFrom('eu-west-1a', 'eu-west-1b', 'eu-west-1-lon-1a'),
      isPublic: fc.boolean(),
      tags: fc.constantFrom<Subnet['tags']>(
        {},
        cluster,
        { 'kubernetes.io/cluster/other': 'owned' },
        { 'kubernetes.io/role/elb': '' },
      ),
    });
    fc.assert(
      fc.property(fc.array(some), fc.boolean(), (kinds, internal) => {
        const subnets = kinds.map(({ zone, isPublic, tags }, at) =>
          subnet(`subnet-${at}`, zone, { public: isPublic, tags }),
        );
        const choice = chooseSubnets(subnets, request({ internal }));
        assert.deepEqual(chooseSubnets(subnets.toReversed(), request({ internal })), choice);
        const chosen = 'problem' in choice ? [] : choice.subnets;
        assert.equal(new Set(chosen.map(({ zone }) => zone)).size, chosen.length);
        for (const { zone, tags, public: open } of chosen) {
          assert.ok(zone !== 'eu-west-1-lon-1a' && (internal || open) && !('kubernetes.io/cluster/other' in tags));
        }
      }),
    );
  });
});
