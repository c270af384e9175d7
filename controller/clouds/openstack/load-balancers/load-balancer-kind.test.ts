import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { CloudError } from '../../../../common/cloud-error.ts';
import type { Found, WriteIo } from '../../../engine/resource.ts';
import { answerFields } from '../../answer-fields.ts';
import { parseGcfg } from '../../gcfg.ts';
import { loadBalancerConfigOf } from '../load-balancer-config.ts';
import { createLoadBalancerKinds } from './load-balancer-kind.ts';
import { type LoadBalancer, readLoadBalancer } from './octavia-answer.ts';
import type { OctaviaCalls } from './octavia-calls.ts';
import { foundLoadBalancer } from './resources.ts';
import type { LoadBalancerSpec } from './specs.ts';

const io: WriteIo = {
  owner: { cluster: 'c', service: 's' },
  permit: () => {},
  idOf: (name) => name,
  within: undefined,
};
const spec = {} as LoadBalancerSpec;

function inError(id: string, provider: string): Found<LoadBalancer> {
  const place = { cloud: 'openstack', operation: 'GET /lbaas/loadbalancers' };
  const answer = answerFields({ id, provider, provisioning_status: 'ERROR' }, place);
  const [found] = foundLoadBalancer(readLoadBalancer(answer));
  return found as Found<LoadBalancer>;
}

/** What is planned for a load balancer in ERROR after a failover of `lb-1` (amphora) got that answer. */
async function plannedAfter(
  error: CloudError,
): Promise<(other: Found<LoadBalancer>) => 'failover' | 'replace' | 'same'> {
  const calls: Partial<OctaviaCalls> = { send: () => Promise.reject(error) };
  const { config } = loadBalancerConfigOf(parseGcfg('', 'cloud.conf'));
  const parts = { calls: calls as OctaviaCalls, config, subnetOf: async () => '', sent: () => {} };
  const [kind] = createLoadBalancerKinds(parts);
  const found = inError('lb-1', 'amphora');
  const compared = kind.compare(found, spec, () => []);
  assert.ok('changes' in compared);
  await assert.rejects(kind.update!(found, compared.changes[0]!, io));
  return (other) => {
    const then = kind.compare(other, spec, () => []);
    if ('same' in then) return 'same';
    return 'replace' in then ? 'replace' : 'failover';
  };
}

function refusal(kind: CloudError['kind'], status: number): CloudError {
  return new CloudError({ kind, cloud: 'openstack', operation: 'PUT', message: '', cause: { status } as never });
}

describe('A load balancer in ERROR whose failover Octavia refuses', () => {
  it('fails a load balancer over again after a 404, since a proxy may have answered', async () => {
    for (const kind of ['NotFound', 'Unavailable'] as const) {
      const planned = await plannedAfter(refusal(kind, 404));
      const all = [inError('lb-1', 'amphora'), inError('lb-2', 'amphora')].map(planned);
      assert.deepEqual(all, ['failover', 'failover'], kind);
    }
  });

  it('replaces a load balancer whose failover is a bad request, and no other one', async () => {
    const planned = await plannedAfter(refusal('Invalid', 400));
    const all = [inError('lb-1', 'amphora'), inError('lb-2', 'amphora')].map(planned);
    assert.deepEqual(all, ['replace', 'failover']);
  });

  it('replaces the load balancers of a provider that cannot fail over, and no others', async () => {
    const planned = await plannedAfter(refusal('Unavailable', 501));
    const all = [inError('lb-2', 'amphora'), inError('lb-3', 'other')].map(planned);
    assert.deepEqual(all, ['replace', 'failover']);
  });

  it('replaces all load balancers in ERROR where the credential may not fail over', async () => {
    const planned = await plannedAfter(refusal('Forbidden', 403));
    const all = [inError('lb-2', 'amphora'), inError('lb-3', 'other')].map(planned);
    assert.deepEqual(all, ['replace', 'replace']);
  });
});
