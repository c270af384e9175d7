import assert from 'node:assert/strict';
import { after, before, describe } from 'node:test';
import { changeFacts } from './changes.suite.ts';
import { faultFacts } from './faults.suite.ts';
import { instanceFacts } from './instances.suite.ts';
import { kindFacts } from './kinds.suite.ts';
import { balancerFacts } from './load-balancers.suite.ts';
import { markFacts } from './marks.suite.ts';
import { ownershipFacts } from './ownership.suite.ts';
import { routeFacts } from './routes.suite.ts';
import type { SuiteContext } from './suite-context.ts';
import type { CloudCapabilities, CloudWorld } from './world.ts';

export interface CloudSuite {
  /** `simulated, in process`. */
  readonly name: string;
  /** What the cloud can do; facts that ask for more are left out. */
  readonly capabilities: CloudCapabilities;
  /** Called once, before the first fact. */
  open(): Promise<CloudWorld>;
}

/**
 * The facts that every cloud has to show: about instances, load balancers and routes, as the contracts in
 * `controller/clouds/` say them. Registers them with node:test; they run one after another in one world. Every fact
 * creates what it needs and removes it.
 */
export function cloudSuite({ name, capabilities, open }: CloudSuite): void {
  describe(`cloud: ${name}`, () => {
    let opened: CloudWorld | undefined;
    const world = (): CloudWorld => {
      assert.ok(opened, 'the world did not open');
      return opened;
    };
    before(async () => {
      opened = await open();
    });
    after(async () => {
      await opened?.close();
    });
    const context: SuiteContext = { world, capabilities };
    instanceFacts(context);
    if (capabilities.loadBalancers) {
      balancerFacts(context);
      changeFacts(context);
      ownershipFacts(context);
      kindFacts(context);
      markFacts(context);
      faultFacts(context);
    }
    routeFacts(context);
  });
}
