import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { silentLog } from '../../common/process/log.ts';
import { createMetricRegistry } from '../../common/process/metrics.ts';
import { testCa } from '../../common/testing/certificates.ts';
import { fakeClock } from '../../common/testing/fake-clock.ts';
import { type ControllerAccess, createControllerAccess } from '../controller-access.ts';
import { deliver } from '../deliver.ts';
import { agentMetrics } from '../metrics.ts';
import { type ControllerReply, type SeenReport, startFakeController } from './fake-controller.ts';

const serverName = 'mooring-controller.kube-system.svc';

type Reply = (report: SeenReport) => ControllerReply | 'hang';

/** Controllers on real sockets, all of one authority, and deliverers that know them. */
export async function deliveryHarness() {
  const ca = await testCa();
  const certificate = await ca.issue({ dnsNames: [serverName] });

  /** Is closed after the test. */
  async function controller(context: TestContext, reply?: Reply, host?: string) {
    const started = await startFakeController(certificate, reply, host);
    context.after(() => started.close());
    return started;
  }

  /** A deliverer on a fake clock and real sockets, with half-way randomness, so that jitter is none. */
  async function start(context: TestContext, urls: readonly string[], files: Readonly<Record<string, string>> = {}) {
    const folder = await mkdtemp(join(tmpdir(), 'deliver-'));
    const write = (name: string, text: string) => writeFile(join(folder, name), text);
    for (const [name, text] of Object.entries({ 'ca.crt': ca.caPem, token: 'token-1', ...files }))
      await write(name, text);
    const clock = fakeClock(undefined, 2);
    const registry = createMetricRegistry();
    const stop = new AbortController();
    let busy = 0;
    async function counted<T>(run: () => Promise<T>): Promise<T> {
      busy += 1;
      try {
        return await run();
      } finally {
        busy -= 1;
      }
    }
    const inner = createControllerAccess({
      clock,
      log: silentLog,
      urls,
      urlFile: join(folder, 'urls'),
      tokenFile: join(folder, 'token'),
      caFile: join(folder, 'ca.crt'),
      serverName,
    });
    const access: ControllerAccess = {
      async current() {
        const found = await counted(inner.current);
        return found.ok ? { ...found, http: (request) => counted(() => found.http(request)) } : found;
      },
      close: inner.close,
    };
    const state = { content: 'a' };
    let sequence = 0;
    const deliverer = deliver(
      {
        access,
        clock,
        random: () => 0.5,
        log: silentLog,
        metrics: registry.define(agentMetrics),
        heartbeatMs: 60_000,
        compose(leaving) {
          sequence += 1;
          return JSON.stringify({ sequence, content: state.content, ...(leaving ? { leaving } : {}) });
        },
      },
      stop.signal,
    );
    context.after(async () => {
      stop.abort();
      access.close();
      await rm(folder, { recursive: true });
    });

    /** Advances the clock by seconds until the condition holds, and lets sockets make progress before each step. */
    async function until(condition: () => boolean, message: string, limitSeconds = 600): Promise<number> {
      const from = clock.monotonic();
      while (true) {
        for (let turn = 0; turn < (busy > 0 ? 100 : 3) && !condition(); turn += 1) {
          await new Promise((resolve) => (busy > 0 ? setTimeout(resolve, 1) : setImmediate(resolve)));
        }
        if (condition()) return (clock.monotonic() - from) / 1000;
        if (clock.monotonic() - from > limitSeconds * 1000) assert.fail(`never: ${message}`);
        await clock.advance(1000);
      }
    }
    const pass = (seconds: number) => {
      const end = clock.monotonic() + seconds * 1000;
      return until(() => clock.monotonic() >= end, 'time passes', seconds + 1);
    };
    const arrived = (at: { readonly reports: readonly SeenReport[] }, count: number) =>
      until(() => at.reports.length >= count, `${count} reports`);
    const ready = () => until(() => deliverer.unready() === undefined, 'ready');
    return { clock, pass, deliverer, state, stop, write, until, arrived, ready, registry };
  }

  return { ca, certificate, serverName, controller, start };
}
