import assert from 'node:assert/strict';
import { parseFlags } from '../../../common/process/flags.ts';
import { type Log, silentLog } from '../../../common/process/log.ts';
import { seededRandom } from '../../../common/process/random.ts';
import type { FakeClock } from '../../../common/testing/fake-clock.ts';
import { names } from '../../../common/well-known.ts';
import type { ReadReports } from '../../../controller/app/follow-reports.ts';
import { readDecisionOptions } from '../../../controller/app/options/run-options.ts';
import type { Cloud } from '../../../controller/clouds/cloud.ts';
import { createSimulatedCloud } from '../../../controller/clouds/simulated/simulated-cloud.ts';
import { planFlags } from '../../../controller/commands/plan/plan-flags.ts';
import { makePlan } from '../../../controller/dry-run/make-plan.ts';
import type { Plan } from '../../../controller/dry-run/planned-change.ts';
import { createSkippingClock } from '../../../controller/dry-run/skipping-clock.ts';
import type { KubeApi } from '../../../controller/kube/api.ts';
import type { ConfiguredCloud } from '../../../controller/model/configured-cloud.ts';
import { withLoadBalancers } from '../../../controller/services/balancers/with-load-balancers.ts';
import type { SimulatedCloud } from '../../kit/cloud/cloud.ts';
import { inProcessHttp } from '../../kit/cloud/in-process.ts';

export interface PlannedWorld {
  readonly api: KubeApi;
  readonly cloud: SimulatedCloud;
  readonly clock: FakeClock;
  readonly log?: Log;
  /** Default: the simulated cloud. */
  readonly clouds?: readonly ConfiguredCloud[];
  /** The reports of agents that the leader has. Default: none are read. */
  readonly readReports?: ReadReports;
  /** As in PlanParts. */
  readonly reportOnly?: ReadonlySet<string>;
}

/** The plan with these flags, as the command makes it. Nothing of the world moves meanwhile, but for its clock. */
export async function planOf(world: PlannedWorld, flags: readonly string[] = []): Promise<Plan> {
  const { api, clock, log = silentLog } = world;
  const parsed = parseFlags(planFlags, ['--cloud-provider=simulated', ...flags], {});
  assert.ok(parsed.ok, parsed.ok ? '' : parsed.message);
  const ahead = createSkippingClock(clock);
  return makePlan({
    namespace: names.namespace,
    api,
    clock,
    ahead,
    log,
    random: seededRandom(2),
    aheadMs: parsed.values.ahead,
    clouds: world.clouds ?? [simulatedCloud(world, ahead)],
    options: { ...(await readDecisionOptions(parsed.values)), reportUrl: '' },
    listening: world.readReports && {
      readReports: world.readReports,
      forMs: parsed.values.listen,
      signal: new AbortController().signal,
    },
    ...(world.reportOnly && { reportOnly: world.reportOnly }),
    say: () => {},
    rest: (calls) => clock.advance(calls > 0 ? 10 : 0),
  });
}

function simulatedCloud(
  { cloud, clock }: PlannedWorld,
  planningClock: FakeClock | ReturnType<typeof createSkippingClock>,
): ConfiguredCloud {
  const opened = createSimulatedCloud({
    config: { endpoint: 'http://cloud', project: 'demo', region: 'sim-1', credential: { text: cloud.credential } },
    context: { clock, random: seededRandom(1), log: silentLog, env: {}, onCall: () => {} },
    http: inProcessHttp(cloud.api, clock),
    credential: async () => cloud.credential,
  });
  const api = withLoadBalancers<Cloud>(opened, planningClock);
  const { name, scope, account } = api;
  return { name, scope, account, accepts: (id) => api.accepts(id), selector: undefined, api };
}
