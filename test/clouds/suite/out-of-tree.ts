import type { Clock } from '../../../common/process/clock.ts';
import type { Http } from '../../../common/process/http.ts';
import { silentLog } from '../../../common/process/log.ts';
import { seededRandom } from '../../../common/process/random.ts';
import { createOutOfTreeModule } from '../../../controller/app/cloud-modules/load-cloud-module.ts';
import type { OpenedCloud } from '../../../controller/clouds/cloud.ts';
import type { OutOfTreeModule } from '../../../controller/clouds/out-of-tree.ts';
import { withLoadBalancers } from '../../../controller/services/balancers/with-load-balancers.ts';
import { withDriver } from './recorded-driver.ts';
import type { WrapDriver } from './world.ts';

/**
 * `mooring/cloud-suite`: the conformance suite for clouds that are no part of Mooring, and what a world of it is made
 * of. It runs in a checkout of Mooring that is linked into `node_modules`.
 */

export { advanceDuring, type FakeClock, fakeClock } from '../../../common/testing/fake-clock.ts';
export { type FakeAnswer, type FakeCall, httpOf, type ListeningFake, listen } from '../fake-http.ts';
export { type CloudSuite, cloudSuite } from './cloud-suite.ts';
export { type SentCalls, sentCalls } from './sent-calls.ts';
export type { CloudCapabilities, CloudVm, CloudWorld, InventoryItem, WrapDriver } from './world.ts';

export interface ModuleUnderTest {
  /** As in `--cloud-module NAME=PATH`. */
  readonly name: string;
  /** Its exports. */
  readonly module: OutOfTreeModule;
  /** Text of the file of `--cloud-config`. */
  readonly config: string;
  readonly clock: Clock;
  /** What the kit's calls are sent with. */
  readonly http: Http;
}

/**
 * The cloud of a module as the controller opens it, behind the same guard. For `open` of a world.
 *
 * @param wrap as the suite gives it to the world
 */
export async function openModule(
  { name, module, config, clock, http }: ModuleUnderTest,
  wrap: WrapDriver | undefined,
): Promise<OpenedCloud> {
  const { open } = createOutOfTreeModule(
    name,
    'under test',
    () => module,
    () => http,
  );
  const context = { clock, random: seededRandom(1), log: silentLog, env: {}, onCall: () => {} };
  const opened = await open({ path: 'under test', text: config }, context);
  if ('reportOnly' in opened) throw new Error(opened.reportOnly);
  return withLoadBalancers(withDriver(opened, wrap), clock);
}
