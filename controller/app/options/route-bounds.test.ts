import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { parseFlags } from '../../../common/process/flags.ts';
import { clusterFlags } from './network-flags.ts';
import { readClusterOptions } from './network-options.ts';
import { OptionError } from './options.ts';

function masks(...argv: readonly string[]): unknown {
  const flags = parseFlags(clusterFlags, argv);
  if (!flags.ok) return flags.message;
  try {
    return readClusterOptions(flags.values).bounds.masks;
  } catch (error) {
    assert.ok(error instanceof OptionError, String(error));
    return error.message;
  }
}

describe('the mask that pod routes are held to', () => {
  const [v4, dual] = ['--cluster-cidr=10.244.0.0/16', '--cluster-cidr=10.244.0.0/16,fd00:10::/48'];
  for (const [title, argv, expected] of [
    ['is not known without a flag: another allocator may have another default', [dual], {}],
    ['is the default where Mooring gives the ranges', [dual, '--allocate-node-cidrs'], { 4: 24, 6: 64 }],
    ['is what the flag of the single family says', [v4, '--node-cidr-mask-size=25'], { 4: 25 }],
    ['is what the flag of each family says', [dual, '--node-cidr-mask-size-ipv6=80'], { 6: 80 }],
    [
      'is refused when no range of it fits',
      [v4, '--node-cidr-mask-size-ipv4=8'],
      '--node-cidr-mask-size-ipv4: "8", expected 16 to 32 with --cluster-cidr 10.244.0.0/16',
    ],
    [
      'is refused when the family has no such mask',
      [v4, '--node-cidr-mask-size=64'],
      '--node-cidr-mask-size: "64", expected 16 to 32 with --cluster-cidr 10.244.0.0/16',
    ],
  ] as const)
    it(title, () => assert.deepEqual(masks(...argv), expected));
});
