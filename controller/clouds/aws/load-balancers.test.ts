import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { fakeClock } from '../../../common/testing/fake-clock.ts';
import { machine } from '../../../test/clouds/aws/fake/classic/machine.ts';
import { ensure } from '../../../test/clouds/aws/fake/nlb/driven.ts';
import { desired } from '../../../test/clouds/aws/fake/nlb/example.ts';
import { clusterId, createRecordingCalls } from '../../../test/clouds/aws/fake/nlb/recording-calls.ts';
import type { LoadBalancers } from '../load-balancers.ts';
import { clusterTagsOf } from './cluster-tags.ts';
import { parseAwsConfig } from './config.ts';
import { keys } from './load-balancer-annotations.ts';
import { createLoadBalancers } from './load-balancers.ts';
import { leftTag } from './nlb/left.ts';
import { assemble } from './nlb/observed.ts';
import { planNlbRemoval } from './nlb/removal.ts';
import type { AwsParts } from './parts.ts';

function beside(classic: LoadBalancers) {
  const parts = {
    ...{ context: { clock: fakeClock(), random: () => 0.5 }, config: parseAwsConfig(undefined), region: 'eu-west-1' },
    cluster: async () => clusterTagsOf(clusterId, false),
    elbv2: () => ({ change: async () => ({}) }),
  } as unknown as AwsParts;
  return createLoadBalancers(parts).combined(classic);
}

/** A Service that has a classic load balancer now, and had a network one that others still use. */
async function moved() {
  const { observed } = await ensure(createRecordingCalls(), desired());
  const { pieces } = observed!;
  const own = pieces.own!;
  const others = { ...own.listeners[0]!, tags: {}, port: 8443, group: 'arn:of-others' };
  const network = { ...pieces.network, groups: new Map() };
  const nlb = (tags: Readonly<Record<string, string>>) =>
    assemble({ ...pieces, groups: [], network, own: { ...own, listeners: [others], tags: { ...own.tags, ...tags } } })!;
  const process = machine();
  const { observed: classic } = await process.ensure(desired());
  const left = nlb({ [leftTag]: own.arn });
  return { nlb: nlb({}), left: { ...classic!, nlb: left, classic }, classic, balancers: beside(process.balancers) };
}

describe('a Service with a classic load balancer that left its network one to others', () => {
  it('shows the address of the one that serves it', async () => {
    const { nlb, classic, balancers } = await moved();
    const [step] = planNlbRemoval(nlb, false).steps;
    const after = await balancers.apply(step!, { ...classic!, nlb, classic }, { permit: () => {} });
    assert.equal(after?.nlb?.pieces.own?.tags[leftTag], after?.nlb?.id);
    assert.deepEqual([after?.id, after?.ingress], [classic?.id, classic?.ingress]);
    assert.ok(classic?.ingress.length);
  });

  it('keeps that address until another is allowed, although the old one still exists', async () => {
    const { left, balancers } = await moved();
    const plan = balancers.plan(desired({ annotations: { [keys.type]: 'nlb' } }), left);
    assert.deepEqual(
      plan.refusals.map(({ reason }) => reason),
      ['AddressWouldChange'],
    );
    assert.deepEqual(
      plan.steps.filter(({ action }) => action === 'delete').map(({ summary }) => summary),
      [],
    );
  });
});
