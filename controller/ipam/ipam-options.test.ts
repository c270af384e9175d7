import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type IpamFlags, parseRangeOptions } from './ipam-options.ts';

const flags: IpamFlags = {
  clusterCidr: '10.244.0.0/16',
  serviceClusterIpRange: '',
  nodeCidrMaskSize: 0,
  nodeCidrMaskSizeIpv4: 24,
  nodeCidrMaskSizeIpv6: 64,
};

function told(changes: Partial<IpamFlags>): string {
  const options = parseRangeOptions({ ...flags, ...changes });
  if ('flag' in options) return `--${options.flag}`;
  const ranges = options.ranges.map(({ range, maskSize }) => `${range.text} by ${maskSize}`);
  return [...ranges, ...options.serviceCidrs.map(({ text }) => `not ${text}`)].join(', ');
}

describe('the flags of node IPAM', () => {
  const cases: readonly [Partial<IpamFlags>, string][] = [
    [{}, '10.244.0.0/16 by 24'],
    [{ clusterCidr: 'fd00:10::/48' }, 'fd00:10::/48 by 64'],
    [{ clusterCidr: '10.244.0.0/16,fd00:10::/48' }, '10.244.0.0/16 by 24, fd00:10::/48 by 64'],
    [{ clusterCidr: 'fd00:10::/48,10.244.0.0/16' }, 'fd00:10::/48 by 64, 10.244.0.0/16 by 24'],
    [{ nodeCidrMaskSize: 26 }, '10.244.0.0/16 by 26'],
    [{ nodeCidrMaskSizeIpv4: 25 }, '10.244.0.0/16 by 25'],
    [{ nodeCidrMaskSizeIpv4: 0 }, '10.244.0.0/16 by 24'],
    [{ serviceClusterIpRange: '10.244.0.0/20' }, '10.244.0.0/16 by 24, not 10.244.0.0/20'],
    [{ clusterCidr: 'fd00::/48', nodeCidrMaskSizeIpv6: 64 }, 'fd00::/48 by 64'],
    [{ clusterCidr: '' }, '--cluster-cidr'],
    [{ clusterCidr: 'x' }, '--cluster-cidr'],
    [{ serviceClusterIpRange: 'x' }, '--service-cluster-ip-range'],
    [{ serviceClusterIpRange: '10.244.0.0/16' }, '--service-cluster-ip-range'],
    [{ clusterCidr: '10.244.0.0/16,fd00:10::/48', nodeCidrMaskSize: 24 }, '--node-cidr-mask-size'],
    [{ nodeCidrMaskSize: 15 }, '--node-cidr-mask-size'],
    [{ nodeCidrMaskSizeIpv4: 15 }, '--node-cidr-mask-size-ipv4'],
    [{ nodeCidrMaskSizeIpv4: 33 }, '--node-cidr-mask-size-ipv4'],
    [{ clusterCidr: '10.0.0.0/8', nodeCidrMaskSizeIpv4: 31 }, '--node-cidr-mask-size-ipv4'],
    [{ clusterCidr: 'fd00::/47' }, '--node-cidr-mask-size-ipv6'],
    [{ clusterCidr: 'fd00::/48', nodeCidrMaskSizeIpv6: 65 }, '--node-cidr-mask-size-ipv6'],
  ];
  for (const [changes, expected] of cases)
    it(`${expected.startsWith('--') ? 'refuses' : 'reads'} ${JSON.stringify(changes)}: ${expected}`, () =>
      assert.equal(told(changes), expected));

  it('refuses invalid flags with what was expected', () => {
    const refused = parseRangeOptions({ ...flags, nodeCidrMaskSizeIpv4: 12 });
    assert.ok('expected' in refused);
    assert.deepEqual(refused, {
      flag: 'node-cidr-mask-size-ipv4',
      value: '12',
      expected: '16 to 32 with --cluster-cidr 10.244.0.0/16',
    });
  });
});
