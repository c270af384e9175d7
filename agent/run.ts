import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Clock } from '../common/process/clock.ts';
import { healthHandler } from '../common/process/health.ts';
import { listenFault } from '../common/process/listen-fault.ts';
import type { Log } from '../common/process/log.ts';
import { createMetricRegistry, type StandardMetrics } from '../common/process/metrics.ts';
import type { Random } from '../common/process/random.ts';
import { untilAborted } from '../common/process/until.ts';
import { version } from '../common/version.ts';
import { createControllerAccess } from './controller-access.ts';
import { type Deliverer, deliver } from './deliver.ts';
import { createEvidenceKeeper } from './evidence.ts';
import { readLocalInterfaces } from './local-interfaces.ts';
import type { Machine } from './machine.ts';
import { type AgentMetrics, agentMetrics } from './metrics.ts';
import { type Observer, observe } from './observe.ts';
import { openSource } from './open-source.ts';
import { parseHostPort, type RunValues } from './options.ts';
import { type AgentIdentity, composeReport } from './report.ts';

export interface RunDependencies {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly machine: Machine;
  /** Of the process; served with the agent's own. */
  readonly standard?: StandardMetrics;
  /** Aborts on SIGTERM and SIGINT. */
  readonly signal: AbortSignal;
}

/** The time for the last report, out of the second that stopping may take. */
const leaveTimeoutMs = 500;

/** Observes and reports until the signal aborts, sends the last report, and returns the exit code. */
export async function runAgent(values: RunValues, deps: RunDependencies): Promise<number> {
  const { clock, random, log, machine, standard, signal } = deps;
  const named = values.nodeName === undefined ? log : log.with({ node: values.nodeName });
  const { source, dmi, by } = await openSource(values, { clock, random, log: named, machine });
  named.info('starting', { version, cloud: source.cloud, by });
  const registry = createMetricRegistry(standard);
  const metrics = registry.define(agentMetrics);
  metrics.buildInfo.set({ version, cloud: source.cloud }, 1);
  const bootId = await machine.bootId();
  const identity: AgentIdentity = {
    agentVersion: version,
    agentId: randomId(random),
    ...(bootId === undefined ? {} : { bootId }),
    ...(dmi.productUuid === undefined ? {} : { smbiosUuid: dmi.productUuid }),
  };
  const access = createControllerAccess({
    clock,
    log: named,
    urls: values.controllerUrl,
    urlFile: values.controllerUrlFile,
    tokenFile: values.tokenFile,
    caFile: values.caFile,
    serverName: values.serverName,
  });
  let sequence = 0;
  const deliverer = deliver(
    {
      access,
      clock,
      random,
      log: named,
      metrics,
      heartbeatMs: values.heartbeat,
      compose(leaving) {
        sequence += 1;
        const { evidence, error } = keeper.take();
        const moment = {
          sequence,
          nowMs: clock.now(),
          leaving,
          ...(evidence === undefined ? {} : { evidence }),
          ...(error === undefined ? {} : { evidenceError: error }),
        };
        return JSON.stringify(composeReport(identity, observer.current(), moment));
      },
      onAnswer: (answer) => keeper.answered(answer),
    },
    signal,
  );
  const keeper = createEvidenceKeeper({ source, clock, log: named, metrics, onReady: deliverer.wake }, signal);
  const observer = observe(
    {
      source,
      clock,
      random,
      log: named,
      metrics,
      pollIntervalMs: values.pollInterval,
      interfaces: readLocalInterfaces,
      onChange: deliverer.wake,
    },
    signal,
  );
  watchAge(metrics, observer);
  const server = await serveHealth(values.healthAddress, registry, observer, deliverer);
  named.info('serving health', { address: `http://${textOf(server.address() as AddressInfo)}` });
  await untilAborted(signal);
  const accepted = await deliverer.leave(leaveTimeoutMs);
  named.info('stopped', { leavingAccepted: accepted });
  server.close();
  server.closeAllConnections();
  access.close();
  return 0;
}

function watchAge(metrics: AgentMetrics, observer: Observer): void {
  metrics.lastAccepted.set(0);
  metrics.initialized.set(0);
  metrics.metadataAge.collect(() => metrics.metadataAge.set(observer.current().metadata.ageSeconds));
  metrics.metadataFailures.collect(() => metrics.metadataFailures.set(observer.current().metadata.failures));
}

async function serveHealth(
  address: string,
  metrics: ReturnType<typeof createMetricRegistry>,
  observer: Observer,
  deliverer: Deliverer,
): Promise<Server> {
  const { host, port } = parseHostPort(address)!;
  const live = [
    { name: 'observe', check: observer.stuck },
    { name: 'deliver', check: deliverer.stuck },
  ];
  const ready = [{ name: 'report', check: deliverer.unready }];
  const server = createServer(healthHandler({ live, ready, metrics }));
  server.listen({ port, ...(host === undefined ? {} : { host }) });
  try {
    await once(server, 'listening');
  } catch (error) {
    throw new Error(listenFault('--health-address', JSON.stringify(address), error), { cause: error });
  }
  return server;
}

function textOf({ address, family, port }: AddressInfo): string {
  return family === 'IPv6' ? `[${address}]:${port}` : `${address}:${port}`;
}

/** 128 random bits to distinguish processes; not a secret. */
function randomId(random: Random): string {
  return Array.from({ length: 4 }, () =>
    Math.floor(random() * 2 ** 32)
      .toString(16)
      .padStart(8, '0'),
  ).join('');
}
