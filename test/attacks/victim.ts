import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { Agent, type RequestOptions, request } from 'node:https';
import { type Report, reportPath } from '../../common/report.ts';
import { taints } from '../../common/well-known.ts';
import { ask } from '../../controller/reports/testing/https-client.ts';
import type { Replica } from '../kit/world/replica.ts';
import { nodeNamed, taintKeys, until } from '../kit/world/scenario.ts';
import type { World } from '../kit/world/world.ts';

/** The leader, once it has taken reports of the first Node's agent: attacks begin on a cluster that works. */
export async function readyLeader(world: World): Promise<Replica> {
  const name = world.vms[0]?.name ?? '';
  await until(`${name} is initialised`, 40_000, async () => {
    const node = await nodeNamed(world, name);
    return node && !taintKeys(node).includes(taints.uninitialized);
  });
  const leader = await until('a replica leads', 20_000, () => world.leader());
  await takesReport(world, leader);
  return leader;
}

/** Sends a report of the first Node's agent, again and again as agents do, until it is accepted. */
export async function takesReport(world: World, replica: Replica): Promise<void> {
  const report: Report = {
    version: 1,
    agentVersion: '0.0.0',
    agentId: randomUUID(),
    sequence: 1,
    observedAt: new Date().toISOString(),
    metadata: { ok: false, ageSeconds: 0, failures: 1 },
  };
  const body = JSON.stringify(report);
  let last = '';
  const send = async () => {
    // The kubelet may still be mounting them.
    const { token, ca } = await agentFiles(world);
    const answer = await postReport(replica, ca, token, body).catch(({ message }: Error) => ({
      status: 0,
      text: message,
    }));
    last = `${answer.status} ${answer.text}`;
    return answer.status === 200 && answer.text.includes('"accepted":true');
  };
  await until('the report API takes a report', 30_000, send, () => last);
}

/** One report on a connection of its own. Rejects where there is no answer. @param body whatever it is */
export function postReport({ reportPort: port }: Replica, ca: string, token: string, body: string) {
  const headers = {
    'content-type': 'application/json',
    'content-length': String(Buffer.byteLength(body)),
    authorization: `Bearer ${token}`,
  };
  return ask({ port, ca, path: reportPath, method: 'POST', headers, body });
}

/** The token of the first Node's agent, and the authority of the report API. */
export async function agentFiles(world: World): Promise<{ readonly token: string; readonly ca: string }> {
  const [mounts] = [...world.agents.mounts()];
  if (mounts === undefined) throw new Error('no agent');
  return {
    token: (await readFile(mounts.tokenFile, 'utf8')).trim(),
    ca: await readFile(mounts.caFile, 'utf8'),
  };
}

/**
 * Status of one request on a connection of its own, like a kubelet's probe; 0 without an answer within five seconds.
 */
export async function statusOf(port: number, path: string, options: RequestOptions = {}): Promise<number> {
  const agent = new Agent({ keepAlive: false, rejectUnauthorized: false });
  return new Promise<number>((resolve) => {
    const asked = request({ host: '127.0.0.1', port, path, agent, timeout: 5_000, ...options }, (answer) => {
      answer.resume();
      answer.on('end', () => resolve(answer.statusCode ?? 0));
      answer.on('error', () => resolve(0));
    });
    asked.on('timeout', () => asked.destroy());
    asked.on('error', () => resolve(0));
    asked.end();
  }).finally(() => agent.destroy());
}
