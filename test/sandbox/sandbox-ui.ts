import { systemClock } from '../../common/process/clock.ts';
import { silentLog } from '../../common/process/log.ts';
import { names } from '../../common/well-known.ts';
import { metricsAt } from '../../controller/commands/metrics/read-metrics.ts';
import { openUi } from '../../controller/commands/ui/open-ui.ts';
import { readPageFiles } from '../../controller/commands/ui/page-files.ts';
import type { RunningUi } from '../../controller/commands/ui/serve-ui.ts';
import { createKubeClient } from '../../controller/kube/client.ts';
import type { World, WorldApi } from '../kit/world/world.ts';
import { createFaults } from './faults.ts';

export interface SandboxUi extends RunningUi {
  /** From here on the page has metrics. */
  show(world: World): void;
  /** From here on the page can break things. */
  allowFaults(): void;
}

/** Serves the page of `mooring-controller ui` about the sandbox's cluster, with faults to cause. */
export async function openSandboxUi(api: WorldApi): Promise<SandboxUi> {
  const clock = systemClock();
  let world: World | undefined;
  let isTourOver = false;
  const credentials = { headers: { authorization: `Bearer ${api.adminToken}` }, tls: { ca: api.caPem } };
  const config = { server: api.url, credentials: () => credentials };
  const client = createKubeClient({ config, clock, log: silentLog });
  const ui = await openUi({
    api: client.api,
    clock,
    random: Math.random,
    log: silentLog,
    page: readPageFiles,
    server: api.url,
    where: { namespace: names.namespace, leaseNamespace: names.namespace, leaseName: names.lease },
    rows: { loadBalancerClasses: [], moduleNames: [] },
    port: 0,
    async readMetrics() {
      const leader = await world?.leader();
      if (leader === undefined) throw new Error('no controller leads');
      return metricsAt(`https://127.0.0.1:${leader.securePort}/metrics`, async () => api.adminToken)();
    },
    faults: createFaults(() => (isTourOver ? world : undefined)),
  });
  return {
    url: ui.url,
    async close() {
      await ui.close();
      client.close();
    },
    show(started) {
      world = started;
    },
    allowFaults() {
      isTourOver = true;
    },
  };
}
