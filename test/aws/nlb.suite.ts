import assert from 'node:assert/strict';
import { cloudSuite } from '../clouds/cloud-suite.ts';
import { startAwsWorld } from './aws-world.ts';

const moto = process.env['MOTO_URL'];

cloudSuite({
  name: 'AWS on moto, network load balancers',
  capabilities: {
    deletedVm: 'gone',
    loadBalancers: undefined,
    // Blackholes are of the fake in controller/clouds/aws/testing: moto shows every route as active.
    routes: { tags: false, blackholes: false, quota: false },
    enumerateFaults: true,
  },
  async open() {
    assert.ok(moto, 'MOTO_URL');
    return startAwsWorld({ moto, kind: 'nlb', config: ['NLBSecurityGroupMode = Managed'] });
  },
});
