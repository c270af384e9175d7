import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createMetricRegistry } from '../../common/process/metrics.ts';
import { parseRangeOptions } from './ipam-options.ts';
import { ipamMetrics } from './metrics.ts';
import { createRangeAllocator } from './range-allocator.ts';

function allocator(clusterCidr: string, changes: { readonly services?: string; readonly v4?: number } = {}) {
  const options = parseRangeOptions({
    clusterCidr,
    serviceClusterIpRange: changes.services ?? '',
    nodeCidrMaskSize: 0,
    nodeCidrMaskSizeIpv4: changes.v4 ?? 24,
    nodeCidrMaskSizeIpv6: 64,
  });
  if ('flag' in options) throw new Error(options.expected);
  const registry = createMetricRegistry();
  const ranges = createRangeAllocator(options, registry.define(ipamMetrics));
  const give = (uid: string) => {
    const given = ranges.allocate({ name: uid, uid });
    return 'full' in given ? `full ${given.full}` : given.cidrs.map(({ text }) => text).join(' ');
  };
  return { ranges, give, text: () => registry.text() };
}

const fine = { outside: [], overlaps: [], mask: [] };
const owner = (uid: string) => ({ name: uid, uid });

describe('the ranges of Nodes', () => {
  it('allocates one range of each family, in the order of --cluster-cidr', () => {
    const { give } = allocator('fd00:10::/48,10.244.0.0/16');
    assert.equal(give('a'), 'fd00:10::/64 10.244.0.0/24');
    assert.equal(give('b'), 'fd00:10:0:1::/64 10.244.1.0/24');
    assert.equal(give('a'), 'fd00:10::/64 10.244.0.0/24');
  });

  it('releases the range of one family when the other has none left', () => {
    const { ranges, give } = allocator('10.244.0.0/16,fd00:10::/63');
    assert.equal(give('a'), '10.244.0.0/24 fd00:10::/64');
    assert.equal(give('b'), '10.244.1.0/24 fd00:10:0:1::/64');
    for (let at = 0; at < 1000; at += 1) assert.equal(give('c'), 'full fd00:10::/63');
    assert.equal(ranges.held(owner('c')), undefined);
    ranges.release(owner('a'));
    assert.match(give('c'), /^10\.244\.\d+\.0\/24 fd00:10::\/64$/);
  });

  it('never allocates ranges of Services', () => {
    const { give } = allocator('10.244.0.0/22', { services: '10.244.0.0/23' });
    assert.equal(give('a'), '10.244.2.0/24');
    assert.equal(give('b'), '10.244.3.0/24');
    assert.equal(give('c'), 'full 10.244.0.0/22');
  });

  it('never allocates a range that a Node already has', () => {
    const { ranges, give } = allocator('10.244.0.0/22');
    assert.deepEqual(ranges.mark(owner('a'), ['10.244.0.0/24']), fine);
    assert.deepEqual(ranges.mark(owner('a'), ['10.244.0.0/24']), fine);
    assert.equal(give('b'), '10.244.1.0/24');
    ranges.release(owner('a'));
    ranges.release(owner('a'));
    assert.deepEqual(['c', 'd', 'e', 'f'].map(give), [
      '10.244.2.0/24',
      '10.244.3.0/24',
      '10.244.0.0/24',
      'full 10.244.0.0/22',
    ]);
  });

  it('reports ranges of Nodes that are outside or overlap', () => {
    const { ranges } = allocator('10.244.0.0/16');
    assert.deepEqual(ranges.mark(owner('a'), ['192.168.0.0/24']), { ...fine, outside: ['192.168.0.0/24'] });
    assert.deepEqual(ranges.mark(owner('b'), ['10.244.0.0/24']), fine);
    assert.deepEqual(ranges.mark(owner('c'), ['10.244.0.0/25']), { ...fine, mask: ['10.244.0.0/25'] });
    assert.deepEqual(ranges.mark(owner('e'), ['10.244.0.0/24']), { ...fine, overlaps: ['10.244.0.0/24'] });
    assert.deepEqual(ranges.mark(owner('f'), ['10.0.0.0/8']), { ...fine, outside: ['10.0.0.0/8'] });
    assert.deepEqual(ranges.mark(owner('d'), ['x']), { ...fine, outside: ['x'] });
  });

  it('ignores invalid ranges, so that a Node with all ranges does not block others', () => {
    const { ranges, give } = allocator('10.244.0.0/22', { services: '10.244.0.0/24' });
    for (const [at, range] of ['10.244.0.0/22', '10.0.0.0/8', '0.0.0.0/0', '10.244.2.0/23'].entries())
      ranges.mark(owner(`rogue-${at}`), [range]);
    assert.deepEqual(['a', 'b', 'c', 'd'].map(give), [
      '10.244.1.0/24',
      '10.244.2.0/24',
      '10.244.3.0/24',
      'full 10.244.0.0/22',
    ]);
  });

  it('never allocates parts of ranges that an earlier mask gave', () => {
    const { ranges, give } = allocator('10.244.0.0/21');
    const marked = ranges.mark(owner('wide'), ['10.244.0.0/23']);
    assert.deepEqual(marked, { ...fine, mask: ['10.244.0.0/23'] });
    for (const uid of ['narrow', 'beside']) {
      const range = uid === 'narrow' ? '10.244.5.128/25' : '10.244.5.0/25';
      assert.deepEqual(ranges.mark(owner(uid), [range]), { ...fine, mask: [range] });
    }
    const given = ['a', 'b', 'c', 'd', 'e'].map(give);
    const free = [2, 3, 4, 6, 7].map((at) => `10.244.${at}.0/24`);
    assert.deepEqual(given, free);
    assert.equal(give('f'), 'full 10.244.0.0/21');
    ranges.release(owner('narrow'));
    assert.equal(give('f'), 'full 10.244.0.0/21', 'the other half is in use');
    ranges.release(owner('beside'));
    assert.equal(give('f'), '10.244.5.0/24');
    ranges.release(owner('wide'));
    assert.deepEqual(['g', 'h'].map(give), ['10.244.0.0/24', '10.244.1.0/24']);
  });

  it('allocates parts of a range that is too wide for one Node only when no other is left', () => {
    const { ranges, give } = allocator('10.244.0.0/16');
    ranges.mark(owner('rogue'), ['10.244.0.0/19']);
    const given = Array.from({ length: 224 }, (_, at) => give(`a${at}`));
    assert.ok(!given.some((range) => Number(range.split('.')[2]) < 32));
    assert.equal(give('b'), '10.244.0.0/24');
  });

  it('releases the allocated ranges of a Node that has others', () => {
    const { ranges, give } = allocator('10.244.0.0/23');
    assert.equal(give('a'), '10.244.0.0/24');
    ranges.mark(owner('a'), ['10.244.1.0/24']);
    assert.equal(give('b'), '10.244.0.0/24');
  });

  it('sets the metrics of upstream', async () => {
    const { ranges, give, text } = allocator('10.244.0.0/22');
    give('a');
    give('b');
    ranges.release(owner('a'));
    const lines = (await text()).split('\n');
    for (const line of [
      'node_ipam_controller_cidrset_cidrs_allocations_total{clusterCIDR="10.244.0.0/22"} 2',
      'node_ipam_controller_cidrset_cidrs_releases_total{clusterCIDR="10.244.0.0/22"} 1',
      'node_ipam_controller_cirdset_max_cidrs{clusterCIDR="10.244.0.0/22"} 4',
      'node_ipam_controller_cidrset_usage_cidrs{clusterCIDR="10.244.0.0/22"} 0.25',
      'node_ipam_controller_cidrset_allocation_tries_per_request_count{clusterCIDR="10.244.0.0/22"} 2',
    ])
      assert.ok(lines.includes(line), line);
  });
});
