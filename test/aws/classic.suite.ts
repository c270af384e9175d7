import assert from 'node:assert/strict';
import { cloudSuite } from '../clouds/cloud-suite.ts';
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
      retain: true,
      refusesMembers: true,
    },
    routes: undefined,
    enumerateFaults: true,
  },
  async open() {
    assert.ok(moto, 'MOTO_URL');
    const world = await startAwsWorld({ moto, kind: 'classic', rules: classicRules() });
    return { ...world, deleteLoadBalancer: (id) => world.deleteLoadBalancer(nameIn(id)) };
  },
});

/** A person deletes one by its name. */
function nameIn(id: string): string {
  return id.replace(/-\d+\.eu-west-1\.elb\.amazonaws\.com$/, '');
}
