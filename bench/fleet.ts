import { randomUUID } from 'node:crypto';
import { request } from 'node:https';
import { setTimeout as sleep } from 'node:timers/promises';
import { createMetadataHttp } from '../agent/metadata/client.ts';
import { simulatedSource } from '../agent/metadata/simulated.ts';
import { composeReport } from '../agent/report.ts';
import type { Instance } from '../common/instance.ts';
import { systemClock } from '../common/process/clock.ts';
import { reportPath } from '../common/report.ts';
import { version } from '../common/version.ts';
import { names } from '../common/well-known.ts';
import type { RunningCloud } from '../test/kit/cloud/start-cloud.ts';
import { type KubeRest, strategicPatch } from '../test/kit/world/kube-rest.ts';
import { serviceAccountToken } from '../test/kit/world/manifests.ts';
import { freshNode, type Machine } from './bare-patches.ts';

/** VMs of the simulated cloud, and what kubelets and agents on them would do. */
export interface Fleet {
  readonly machines: readonly Machine[];
  /** Registers the Nodes, uninitialized, of 12 KB each. */
  register(): Promise<void>;
  /** Makes the agents' pods and reads each one's metadata and bound token, once. */
  prepareAgents(): Promise<readonly PreparedAgent[]>;
  /**
   * The next report of every agent, each over its own connection, `perSecond` in all, until the signal aborts. Returns
   * how many were accepted.
   */
  report(to: { readonly port: number; readonly ca: string }, perSecond: number, signal?: AbortSignal): Promise<number>;
  /**
   * Status patches as kubelets send them every five minutes, `perSecond` in all, until the signal aborts. Returns how
   * many.
   */
  heartbeats(perSecond: number, signal: AbortSignal): Promise<number>;
  remove(): Promise<void>;
}

/** What an agent needs to begin with. */
export interface PreparedAgent {
  readonly id: string;
  readonly instance: Instance;
  readonly token: string;
}

interface Agent extends PreparedAgent {
  sequence: number;
}

const width = 16;
/** The pause before a report that was not accepted is sent again. */
const retryMs = 250;
const maxTries = 100;

export function createFleet(rest: KubeRest, cloud: RunningCloud, size: number): Fleet {
  const machines = cloud.model.createMany(size, { name: 'bench' });
  const agents = new Map<string, Agent>();

  async function prepare({ id, name }: { readonly id: string; readonly name: string }): Promise<void> {
    const clock = systemClock();
    const source = simulatedSource({ clock, http: createMetadataHttp(clock), baseUrl: cloud.metadataUrl(id) });
    const instance = await source.read(AbortSignal.timeout(30_000));
    const pod = await rest.must('POST', `/api/v1/namespaces/${names.namespace}/pods`, {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: `${names.agent}-${name}` },
      spec: {
        nodeName: name,
        serviceAccountName: names.agent,
        automountServiceAccountToken: false,
        containers: [{ name: 'agent', image: 'mooring-agent' }],
      },
    });
    const token = await serviceAccountToken(
      rest,
      { namespace: names.namespace, name: names.agent },
      { audience: names.audience, pod: pod.metadata },
    );
    agents.set(name, { id: randomUUID(), instance, token, sequence: 0 });
  }

  async function send(agent: Agent, { port, ca }: { readonly port: number; readonly ca: string }): Promise<boolean> {
    agent.sequence += 1;
    const report = composeReport(
      { agentVersion: version, agentId: agent.id },
      { instance: agent.instance, notices: [], metadata: { ok: true, ageSeconds: 0, failures: 0 } },
      { sequence: agent.sequence, nowMs: Date.now(), leaving: false },
    );
    try {
      const { status, text } = await post(port, ca, agent.token, JSON.stringify(report));
      return status === 200 && JSON.parse(text).accepted === true;
    } catch {
      return false;
    }
  }

  return {
    machines,
    register: () => eachOf(machines, width, (machine) => rest.must('POST', '/api/v1/nodes', freshNode(machine))),
    async prepareAgents() {
      const accounts = `/api/v1/namespaces/${names.namespace}/serviceaccounts`;
      await rest.call('POST', accounts, { metadata: { name: names.agent } });
      await eachOf(machines, width, prepare);
      return [...agents.values()];
    },
    async report(to, perSecond, signal) {
      let accepted = 0;
      await paced(
        [...agents.values()],
        perSecond,
        async (agent) => {
          // As an agent does.
          for (let tries = 0; tries < maxTries && !signal?.aborted; tries += 1) {
            if (await send(agent, to)) {
              accepted += 1;
              return;
            }
            await sleep(retryMs);
          }
        },
        signal,
      );
      return accepted;
    },
    async heartbeats(perSecond, signal) {
      let sent = 0;
      while (!signal.aborted) {
        await paced(
          machines,
          perSecond,
          async ({ name }) => {
            const now = new Date().toISOString().replace(/\.\d+Z$/, 'Z');
            const status = { conditions: [{ type: 'Ready', status: 'True', lastHeartbeatTime: now }] };
            await rest.must('PATCH', `/api/v1/nodes/${name}/status`, { status }, { type: strategicPatch });
            sent += 1;
          },
          signal,
        );
      }
      return sent;
    },
    async remove() {
      await eachOf(machines, width, ({ name }) => rest.call('DELETE', `/api/v1/nodes/${name}`));
      await eachOf([...agents.keys()], width, (name) =>
        rest.call('DELETE', `/api/v1/namespaces/${names.namespace}/pods/${names.agent}-${name}?gracePeriodSeconds=0`),
      );
      for (const { id } of machines) cloud.model.forget(id);
    },
  };
}

/** Works on all items, `atOnce` at a time. */
export async function eachOf<T>(
  items: readonly T[],
  atOnce: number,
  work: (item: T) => Promise<unknown>,
): Promise<void> {
  let next = 0;
  const worker = async () => {
    for (let at = next++; at < items.length; at = next++) await work(items[at] as T);
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
}

/** Begins `perSecond` pieces of work a second; waits for all of them. */
async function paced<T>(
  items: readonly T[],
  perSecond: number,
  work: (item: T) => Promise<void>,
  signal?: AbortSignal,
): Promise<void> {
  const started = performance.now();
  const running = new Set<Promise<void>>();
  let failed: unknown;
  for (let at = 0; at < items.length && !signal?.aborted; at += 1) {
    const early = started + (at * 1000) / perSecond - performance.now();
    if (early > 0) await sleep(early);
    if (failed !== undefined) throw failed;
    const one = work(items[at] as T)
      .catch((error) => {
        failed = error;
      })
      .finally(() => running.delete(one));
    running.add(one);
    if (running.size >= 64) await Promise.race(running);
  }
  await Promise.all(running);
  if (failed !== undefined) throw failed;
}

function post(port: number, ca: string, token: string, body: string): Promise<{ status: number; text: string }> {
  return new Promise((resolve, reject) => {
    const call = request(
      {
        host: '127.0.0.1',
        port,
        path: reportPath,
        method: 'POST',
        ca,
        servername: names.serverName,
        agent: false,
        headers: {
          authorization: `Bearer ${token}`,
          'content-type': 'application/json',
          'content-length': Buffer.byteLength(body),
        },
      },
      (answer) => {
        let text = '';
        answer.setEncoding('utf8');
        answer.on('data', (part: string) => {
          text += part;
        });
        answer.once('error', reject);
        answer.once('end', () => resolve({ status: answer.statusCode ?? 0, text }));
      },
    );
    call.once('error', reject);
    call.end(body);
  });
}
