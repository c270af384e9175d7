import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { systemClock } from '../../common/process/clock.ts';
import { runProgram } from '../../common/process/program.ts';
import { controllerProgram } from './program.ts';

describe('a command that changes nothing', () => {
  let folder = '';
  let asked: () => void = () => {};
  const silent = createServer(() => asked());

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'mooring-interrupted-'));
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
    const server = `http://127.0.0.1:${(silent.address() as AddressInfo).port}`;
    const kubeconfig = {
      clusters: [{ name: 'c', cluster: { server, 'insecure-skip-tls-verify': true } }],
      users: [{ name: 'u', user: { token: 't' } }],
      contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
      'current-context': 'x',
    };
    await writeFile(join(folder, 'kubeconfig'), JSON.stringify(kubeconfig));
  });
  after(async () => {
    silent.closeAllConnections();
    await new Promise((resolve) => silent.close(resolve));
    await rm(folder, { recursive: true });
  });

  for (const argv of [
    ['explain', 'node', 'a'],
    ['check', '--cloud-provider=gce'],
    ['plan', '--cloud-provider=gce'],
  ]) {
    it(`ends at once when it is interrupted while the API server is silent: ${argv[0]}`, async () => {
      const stop = new AbortController();
      const program = controllerProgram({
        clock: systemClock(),
        random: Math.random,
        signal: stop.signal,
        ask: async () => undefined,
      });
      let said = '';
      const seen = new Promise<void>((resolve) => {
        asked = resolve;
      });
      const ended = runProgram(program, {
        argv: [...argv, `--kubeconfig=${join(folder, 'kubeconfig')}`],
        env: {},
        stdout: () => {},
        stderr: (text) => {
          said += text;
        },
      });
      await seen;
      stop.abort();
      assert.equal(await ended, 1);
      assert.ok(said.endsWith(`mooring-controller ${argv[0]}: interrupted\n`), said);
    });
  }
});
