import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { instanceRanges } from './instance-ranges.ts';
import { parseCloudRangeOptions } from './ipam-options.ts';

function chosen(ranges: readonly string[] | undefined, clusterCidr = '10.4.0.0/14', services = ''): string {
  const options = parseCloudRangeOptions({ clusterCidr, serviceClusterIpRange: services });
  if ('flag' in options) throw new Error(options.expected);
  const result = instanceRanges(ranges, options);
  return 'problem' in result ? result.problem : result.cidrs.map(({ text }) => text).join(' ');
}

describe('the pod ranges of an instance', () => {
  const dual = '10.4.0.0/14,fd20::/32';
  for (const [what, actual, expected] of [
    [
      'gives the Node the range of its instance inside --cluster-cidr',
      chosen(['192.168.0.0/24', '10.4.1.0/24']),
      '10.4.1.0/24',
    ],
    ['takes a single address as a range', chosen(['10.4.1.7']), '10.4.1.7/32'],
    ['drops the host bits of a range', chosen(['10.4.1.7/24']), '10.4.1.0/24'],
    [
      'gives one range of each family, in the order of --cluster-cidr',
      chosen(['fd20:0:0:1::/112', '10.4.1.0/24'], dual),
      '10.4.1.0/24 fd20:0:0:1::/112',
    ],
    [
      'gives no range of one family alone where two are needed',
      chosen(['10.4.1.0/24'], dual),
      /no range .* is inside .* fd20::\/32/,
    ],
    ['guesses no range where the cloud shows none', chosen(undefined), /cloud shows no pod ranges/],
    ['guesses no range where the instance has none', chosen([]), /instance has no pod range/],
    [
      'gives no range outside --cluster-cidr',
      chosen(['10.8.1.0/24']),
      /\(10\.8\.1\.0\/24\) is inside --cluster-cidr 10\.4/,
    ],
    ['gives no range wider than --cluster-cidr', chosen(['10.0.0.0/8']), /no range .* is inside/],
    [
      'chooses no range where several are inside',
      chosen(['10.4.1.0/24', '10.4.2.0/24']),
      'its instance has 10.4.1.0/24, 10.4.2.0/24 inside 10.4.0.0/14',
    ],
    ['names a range that is no CIDR', chosen(['10.4.1.0/24', 'x/24']), 'its instance has "x/24", expected a CIDR'],
    [
      'gives no range that overlaps those of Services',
      chosen(['10.4.1.0/24'], '10.4.0.0/14', '10.4.0.0/20'),
      /10\.4\.1\.0\/24 of its instance overlaps --service-cluster-ip-range 10\.4\.0\.0\/20/,
    ],
  ] as const)
    it(what, () => {
      if (typeof expected === 'string') assert.equal(actual, expected);
      else assert.match(actual, expected);
    });
});
