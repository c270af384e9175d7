import assert from 'node:assert/strict';
import { leftoverService } from '../../../controller/clouds/aws/classic/reads.ts';
import { cloudSuite } from '../suite/cloud-suite.ts';
import type { CloudWorld } from '../suite/world.ts';
import { startAwsWorld } from './aws-world.ts';
import { classicRules } from './classic-rules.ts';

const moto = process.env['MOTO_URL'];

cloudSuite({
  name: 'AWS on moto, classic load balancers',
  capabilities: {
    deletedVm: 'gone',
    loadBalancers: {
      protocols: ['TCP'],
      sourceRanges: true,
      sessionAffinity: false,
      uniqueNames: true,
      attach: false,
      drains: false,
      retain: true,
      refusesMembers: true,
    },
    routes: undefined,
    enumerateFaults: true,
  },
  async open() {
    assert.ok(moto, 'MOTO_URL');
    const world = await startAwsWorld({ moto, kind: 'classic', rules: classicRules() });
    return {
      ...world,
      async deleteLoadBalancer(id) {
        await world.deleteLoadBalancer(nameIn(id));
        await sweep(world);
      },
    };
  },
});

/** As the sweep of orphans does it: what the last load balancer has left to nobody goes. */
async function sweep({ cluster, open }: CloudWorld): Promise<void> {
  const { loadBalancers } = await open();
  assert.ok(loadBalancers);
  // The first look has both kinds listed, the second knows what nobody carries.
  await loadBalancers.observeAll(cluster);
  const all = await loadBalancers.observeAll(cluster);
  let left = all.find(({ owner }) => owner?.service === leftoverService);
  while (left !== undefined) {
    const [step] = loadBalancers.planRemoval(left, { retain: false }).steps;
    if (step === undefined) return;
    left = await loadBalancers.apply(step, left, { permit: () => {} });
  }
}

/** A person deletes one by its name. */
function nameIn(id: string): string {
  return id.replace(/-\d+\.eu-west-1\.elb\.amazonaws\.com$/, '');
}
