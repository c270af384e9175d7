import assert from 'node:assert/strict';
import { after, before, describe } from 'node:test';
import { changeFacts } from '../suite/changes.suite.ts';
import { faultFacts } from '../suite/faults.suite.ts';
import { balancerFacts, lifeFacts } from '../suite/load-balancers.suite.ts';
import { ownershipFacts } from '../suite/ownership.suite.ts';
import type { SuiteContext } from '../suite/suite-context.ts';
import type { CloudWorld } from '../suite/world.ts';
import { withLentVms } from './lent-vms.ts';
import { octaviaCapabilities, octaviaConfig } from './octavia-world.ts';
import { openStackCapabilities } from './openstack-world.ts';
import { realOctaviaWorld } from './real-octavia-world.ts';
import { realOpenStackWorld } from './real-world.ts';

/**
 * The facts about load balancers against the OpenStack that the environment names. Servers are created once and lent to
 * one fact after another. `ENUMERATE_FAULTS=true` adds a crash and a lost answer at every call: hundreds of load
 * balancers. `QUICK=true` runs only the facts about one load balancer's life: what else Mooring does is the same on the
 * fake. All facts take a quarter of an hour where one load balancer takes seconds.
 */
describe(`openstack, load balancers of ${process.env['OS_CLOUD']}`, () => {
  let world: CloudWorld | undefined;
  const capabilities = {
    ...openStackCapabilities,
    routes: undefined,
    loadBalancers: octaviaCapabilities,
    enumerateFaults: process.env['ENUMERATE_FAULTS'] === 'true',
  };
  before(async () => {
    const inner = await realOpenStackWorld({ config: octaviaConfig, octavia: realOctaviaWorld });
    world = withLentVms(inner);
  });
  after(() => world?.close());
  const context: SuiteContext = {
    world: () => {
      assert.ok(world, 'the world did not open');
      return world;
    },
    capabilities,
  };
  if (process.env['QUICK'] === 'true') return lifeFacts(context);
  balancerFacts(context);
  changeFacts(context);
  ownershipFacts(context);
  faultFacts(context);
});
