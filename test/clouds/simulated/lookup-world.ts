import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { type Clock, systemClock } from '../../../common/process/clock.ts';
import { createHttp, type Http } from '../../../common/process/http.ts';
import { silentLog } from '../../../common/process/log.ts';
import { seededRandom } from '../../../common/process/random.ts';
import { fakeClock } from '../../../common/testing/fake-clock.ts';
import { type Cloud, type CloudCall, type InstanceRef, type Lookup, refKey } from '../../../controller/clouds/cloud.ts';
import { createSimulatedCloud } from '../../../controller/clouds/simulated/simulated-cloud.ts';
import { createSimulatedCloud as createSandboxCloud } from '../../kit/cloud/cloud.ts';
import { inProcessHttp } from '../../kit/cloud/in-process.ts';
import { startCloud } from '../../kit/cloud/start-cloud.ts';

function open(clock: Clock, http: Http, endpoint: string, credential: string, timeoutMs = 10_000) {
  const made: CloudCall[] = [];
  const context = {
    clock,
    random: seededRandom(1),
    log: silentLog,
    env: {},
    onCall: (call: CloudCall) => made.push(call),
  };
  const config = { endpoint, project: 'demo', region: 'sim-1' };
  const cloud = createSimulatedCloud({ config, context, http, timeoutMs, credential: async () => credential });
  return { cloud, made };
}

type Sandbox = Awaited<ReturnType<typeof startCloud>>;

export async function startSandbox(t: TestContext): Promise<Sandbox> {
  const sandbox = await startCloud({ clock: systemClock(), random: seededRandom(2) });
  t.after(() => sandbox.stop());
  return sandbox;
}

/** A client of its own, with connections of its own and no memory of earlier refusals. */
export function connect(t: TestContext, sandbox: Sandbox, timeoutMs?: number) {
  const clock = systemClock();
  const { http, close } = createHttp({ clock, plain: { keepAlive: true, maxSockets: 8 } });
  t.after(close);
  return open(clock, http, sandbox.url, sandbox.credential, timeoutMs);
}

/** The client on real sockets against the sandbox's cloud. */
export async function overSockets(t: TestContext) {
  const sandbox = await startSandbox(t);
  return { sandbox, ...connect(t, sandbox) };
}

/** The same client straight into the model, on a clock that is told when to move. */
export function inProcess(seed = 2) {
  const clock = fakeClock();
  const sandbox = createSandboxCloud({ clock, random: seededRandom(seed) });
  return { clock, sandbox, ...open(clock, inProcessHttp(sandbox.api, clock), 'http://cloud', sandbox.credential) };
}

export const byId = (id: string): InstanceRef => ({ by: 'providerID', providerID: `simulated://sim-1/${id}` });
export const byName = (name: string): InstanceRef => ({ by: 'name', name });

/** Short answers for these, each of which must have come. */
export async function states(cloud: Cloud, refs: readonly InstanceRef[]): Promise<string[]> {
  const answers = await cloud.instances.lookup(refs);
  assert.equal(answers.size, refs.length);
  return refs.map((ref) => shortOf(answers.get(refKey(ref))!));
}

export function shortOf(answer: Lookup): string {
  return answer.state === 'unknown' ? `unknown ${answer.error.kind}` : answer.state;
}
