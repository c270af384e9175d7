import assert from 'node:assert/strict';
import { after, before } from 'node:test';
import { systemClock } from '../../../common/process/clock.ts';
import { silentLog } from '../../../common/process/log.ts';
import { type TestCa, testCa } from '../../../common/testing/certificates.ts';
import { type KubeApi, KubeError } from '../api.ts';
import { createKubeClient } from '../client.ts';
import { fixedConnection } from './fixed-connection.ts';
import { answerJson, type SeenRequest, startTestServer, type TestServer } from './test-server.ts';

type Handler = Parameters<typeof startTestServer>[0];

/** A server for the tests of one suite and clients of it, all closed after them. */
export interface ClientHarness {
  readonly ca: TestCa;
  readonly server: TestServer;
  /** How the server answers from now on. */
  handle: Handler;
  client(options?: Partial<Parameters<typeof createKubeClient>[0]>): KubeApi;
  /** What the server saw of this work; it answers with an empty object. */
  lastRequest(work: (api: KubeApi) => Promise<unknown>): Promise<SeenRequest>;
}

/** Called where the suite is described. */
export function clientHarness(): ClientHarness {
  let ca: TestCa;
  let server: TestServer;
  const closers: (() => void)[] = [];

  before(async () => {
    ca = await testCa();
    server = await startTestServer((request, response) => harness.handle(request, response), { testCa: ca });
  });
  after(async () => {
    for (const close of closers) close();
    await server.close();
  });

  const harness: ClientHarness = {
    get ca() {
      return ca;
    },
    get server() {
      return server;
    },
    handle: (_, response) => answerJson(response, 200, {}),
    client(options = {}) {
      const config = fixedConnection({ server: server.url, token: 'secret-token', tls: { ca: server.caPem } });
      const made = createKubeClient({ config, clock: systemClock(), log: silentLog, ...options });
      closers.push(made.close);
      return made.api;
    },
    async lastRequest(work) {
      harness.handle = (_, response) => answerJson(response, 200, {});
      await work(harness.client());
      return server.requests.at(-1)!;
    },
  };
  return harness;
}

/** The error that this work ends in. */
export async function failure(work: Promise<unknown>): Promise<KubeError> {
  const error = await work.then(
    () => assert.fail('expected a KubeError'),
    (reason: unknown) => reason,
  );
  assert.ok(error instanceof KubeError, String(error));
  return error;
}
