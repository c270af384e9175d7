import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, beforeEach, describe, it } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { createLog } from '../../common/process/log.ts';
import { createMetricRegistry } from '../../common/process/metrics.ts';
import { type FakeClock, fakeClock } from '../../common/testing/fake-clock.ts';
import { createShippedObjects } from '../kube/shipped-objects.ts';
import { issueSelfSigned } from '../reports/certificates/ca.ts';
import { createReportStore } from '../reports/store.ts';
import { fakeObjects } from '../reports/testing/fake-objects.ts';
import type { ServingCredentials } from '../runtime/serving/credentials.ts';
import { defaultTlsPolicy } from '../runtime/serving/tls-policy.ts';
import { serveReports } from './serve-reports.ts';
import { serveWebhooks } from './serve-webhooks.ts';

describe('a server with certificate files of the operator', () => {
  let folder: string;
  let pair: ServingCredentials;
  let files: { readonly certFile: string; readonly keyFile: string };
  let clock: FakeClock;
  let lines: string[];

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'mooring-serve-'));
    pair = await issueSelfSigned(['localhost'], { notBefore: 0, notAfter: 4_000_000_000_000 });
  });
  after(() => rm(folder, { recursive: true }));
  beforeEach(async () => {
    files = { certFile: join(folder, 'tls.crt'), keyFile: join(folder, 'tls.key') };
    await rm(files.keyFile, { force: true });
    await writeFile(files.certFile, pair.cert);
    clock = fakeClock();
    lines = [];
  });

  const log = () => createLog({ clock, level: 'debug', format: 'text', write: (line) => lines.push(line) });

  /** Files and sockets are real: on a busy machine they take their time. */
  async function untilLogged(text: string): Promise<void> {
    const deadline = performance.now() + 60_000;
    while (!lines.some((line) => line.includes(text))) {
      assert.ok(performance.now() < deadline, lines.join(''));
      await clock.advance(1_000);
      await setImmediate();
    }
  }

  function webhooks() {
    const parts = { clock, log: log(), registry: createMetricRegistry(), clouds: [], paused: () => false };
    const options = { host: '127.0.0.1', port: 0, files, tls: defaultTlsPolicy };
    return serveWebhooks(options, { ...parts, ofReports: new Promise(() => {}) });
  }

  it('accepts reports as soon as the files can be read', async () => {
    const { api } = fakeObjects();
    const service = serveReports(
      { clock, log: log(), reports: createReportStore(clock) },
      {
        api,
        fencedApi: api,
        leadership: { leading: false } as never,
        nodes: { size: 0 } as never,
        task: {} as never,
        registry: createMetricRegistry(),
        shipped: createShippedObjects('kube-system'),
      },
      {
        address: { host: '127.0.0.1', port: 0 },
        url: 'https://127.0.0.1:10270',
        identity: 'a',
        audience: 'mooring',
        serviceAccount: { namespace: 'kube-system', name: 'mooring-agent' },
        files,
      },
    );
    await untilLogged('no reports can be accepted; trying again');
    assert.match(service.problem() ?? '', /tls\.key/);
    await writeFile(files.keyFile, pair.key);
    await untilLogged('accepting reports');
    assert.equal(service.problem(), undefined);
    await service.stop();
    assert.equal(clock.pending, 0);
  });

  it('serves webhooks as soon as the files can be read', async () => {
    const service = webhooks();
    await untilLogged('webhooks not served; trying again');
    assert.equal(service.ready.check(), 'webhooks are not served yet');
    await writeFile(files.keyFile, pair.key);
    await untilLogged('serving webhooks');
    assert.equal(service.ready.check(), undefined);
    await service.stop();
    assert.equal(service.ready.check(), 'webhooks are not served yet');
    assert.equal(clock.pending, 0);
  });

  it('stops while the files cannot be read', async () => {
    const service = webhooks();
    await untilLogged('webhooks not served; trying again');
    await service.stop();
    assert.equal(clock.pending, 0);
  });
});
