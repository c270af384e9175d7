import assert from 'node:assert/strict';
import { cloudSuite } from '../suite/cloud-suite.ts';
import type { InventoryItem } from '../suite/world.ts';
import { type AwsWorld, startAwsWorld } from './aws-world.ts';
import { loadBalancerRules } from './load-balancer-rules.ts';

const moto = process.env['MOTO_URL'];

cloudSuite({
  name: 'AWS on moto, network load balancers',
  capabilities: {
    deletedVm: 'gone',
    loadBalancers: {
      // One target group sends TCP and UDP of a port to one port of its members; the facts ask for two.
      protocols: ['TCP'],
      ...{ sourceRanges: true, sessionAffinity: false, uniqueNames: true, attach: true, retain: true, drains: false },
      refusesMembers: true,
    },
    // Blackholes are of the fake in controller/clouds/aws/testing: moto shows every route as active.
    routes: { tags: false, blackholes: false, quota: false },
    enumerateFaults: true,
  },
  async open() {
    assert.ok(moto, 'MOTO_URL');
    const world = await startAwsWorld({
      moto,
      kind: 'nlb',
      config: ['NLBSecurityGroupMode = Managed'],
      rules: loadBalancerRules(),
    });
    return {
      ...world,
      inventory: async () => (await world.inventory()).map(withoutHash),
      async deleteLoadBalancer(id) {
        await world.deleteLoadBalancer(id);
        await sweep(world);
      },
    };
  },
});

/** Names of target groups and security groups end in a hash over the Service's name, so that two Services cannot be compared by them. */
function withoutHash({ kind, name }: InventoryItem): InventoryItem {
  return { kind, name: name.replaceAll(/k8s-default-web[0-9a-f]{5}-[0-9a-f]{10}/g, 'k8s-default-web') };
}

/** What load balancers share outlasts the last one where a person deleted that; the controller's sweep finds it. */
async function sweep(world: AwsWorld): Promise<void> {
  const { loadBalancers } = await world.open();
  // Who carries a shared group is known when the lists of both kinds have come.
  await loadBalancers?.observeAll(world.cluster);
  const all = (await loadBalancers?.observeAll(world.cluster)) ?? [];
  for (const left of all.filter(({ owner }) => owner?.service === 'traffic-group')) {
    for (let observed: typeof left | undefined = left; observed; ) {
      const [step] = loadBalancers!.planRemoval(observed, { retain: false }).steps;
      if (!step) break;
      observed = await loadBalancers!.apply(step, observed, { permit: () => {} });
    }
  }
}
