import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { parseFlags } from '../../../common/process/flags.ts';
import { clusterFlags, networkFlags } from './network-flags.ts';
import { readNetworkOptions } from './network-options.ts';
import { OptionError } from './options.ts';
import { runFlags } from './own-flags.ts';
import { readLoops } from './run-options.ts';
import { taggingFlags } from './tagging-options.ts';

function masks(...argv: readonly string[]): unknown {
  const flags = parseFlags({ ...runFlags, ...clusterFlags, ...networkFlags, ...taggingFlags }, argv);
  if (!flags.ok) return flags.message;
  try {
    return readNetworkOptions(flags.values, readLoops(flags.values.controllers)).bounds.masks;
  } catch (error) {
    assert.ok(error instanceof OptionError, String(error));
    return error.message;
  }
}

describe('the mask that pod routes are held to', () => {
  const [v4, dual] = ['--cluster-cidr=10.244.0.0/16', '--cluster-cidr=10.244.0.0/16,fd00:10::/48'];
  const allocate = '--allocate-node-cidrs';
  for (const [title, argv, expected] of [
    ['knows no mask without a flag: another allocator may have another default', [dual], {}],
    [
      'takes the default mask where Mooring gives the ranges',
      [dual, allocate, '--controllers=*,nodeipam'],
      { 4: 24, 6: 64 },
    ],
    ['knows no mask where another allocator gives the ranges, although the flag is set', [dual, allocate], {}],
    [
      'knows no mask where the cloud gives the ranges',
      [v4, allocate, '--controllers=nodeipam', '--cidr-allocator-type=CloudAllocator'],
      {},
    ],
    ['takes the mask from the flag of the single family', [v4, '--node-cidr-mask-size=25'], { 4: 25 }],
    ['takes the mask from the flag of each family', [dual, '--node-cidr-mask-size-ipv6=80'], { 6: 80 }],
    [
      'refuses a mask when no range of it fits',
      [v4, '--node-cidr-mask-size-ipv4=8'],
      '--node-cidr-mask-size-ipv4: "8", expected 16 to 32 with --cluster-cidr 10.244.0.0/16',
    ],
    [
      'refuses a mask that the family does not have',
      [v4, '--node-cidr-mask-size=64'],
      '--node-cidr-mask-size: "64", expected 16 to 32 with --cluster-cidr 10.244.0.0/16',
    ],
  ] as const)
    it(title, () => assert.deepEqual(masks(...argv), expected));
});
