import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { cluster, createBalancerHarness, labelsFor, owner } from '../../../../test/clouds/hetzner/balancer-harness.ts';
import type { FakeBalancer } from '../../../../test/clouds/hetzner/fake-resources.ts';

describe('the label of the classic controller of Hetzner Cloud', () => {
  const key = 'hcloud-ccm/service-uid';

  it('labels what is made for a Service, so that the classic controller finds it on the way back', async () => {
    const harness = createBalancerHarness();
    await harness.settle(harness.desired());
    assert.equal(harness.balancer().labels[key], owner.service);
  });

  it('costs no call where a load balancer was made without it', async () => {
    const harness = createBalancerHarness();
    await harness.settle(harness.desired());
    harness.balancer().labels = labelsFor() as FakeBalancer['labels'];
    harness.restart();
    harness.calls();
    await harness.settle(harness.desired());
    assert.deepEqual(
      harness.calls().filter((call) => !call.startsWith('GET')),
      [],
    );
  });

  it('sets no classic label on what others made, since the classic controller deletes what has it', async () => {
    const harness = createBalancerHarness();
    const theirs = harness.addBalancer('theirs', { labels: { 'mooring.dev/attachable-by': cluster } });
    await harness.settle(harness.desired({ attach: { id: String(theirs.id), allowed: true } }));
    assert.equal(theirs.labels['mooring.dev/service-uid'], owner.service);
    assert.equal(theirs.labels[key], undefined);
  });

  it('goes from what is retained', async () => {
    const harness = createBalancerHarness();
    await harness.settle(harness.desired());
    await harness.settle(undefined, { retain: true });
    assert.equal(harness.balancer().labels[key], undefined);
  });

  it('labels the managed certificate of its name, and none beside it', async () => {
    const harness = createBalancerHarness();
    const asking = (domain: string) => ({
      protocol: 'https',
      'certificate-type': 'managed',
      'http-managed-certificate-domains': domain,
    });
    const certificates = () =>
      [...harness.fake.certificates.values()].map(({ name, labels }) => [name, labels[key]] as const);
    await harness.settle(harness.desired({ annotations: asking('web.example.com') }));
    assert.deepEqual(certificates(), [[`ccm-managed-certificate-${owner.service}`, owner.service]]);
    await harness.settle(harness.desired({ annotations: asking('www.example.com') }));
    const [[name, label] = [], ...others] = certificates();
    assert.match(name ?? '', new RegExp(`^ccm-managed-certificate-${owner.service}-[0-9a-f]{8}$`));
    assert.deepEqual([label, others], [undefined, []]);
  });
});
