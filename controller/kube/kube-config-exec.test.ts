import assert from 'node:assert/strict';
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { stringify } from 'yaml';
import { createLog, silentLog } from '../../common/process/log.ts';
import { fakeClock } from '../../common/testing/fake-clock.ts';
import { loadKubeConnection } from './kube-config.ts';

const apiVersion = 'client.authentication.k8s.io/v1';

/** The result of `work` as soon as it no longer throws. */
async function eventually<T>(work: () => T | Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await work();
    } catch {
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  }
}

describe('the connection of a kubeconfig with an exec plugin', () => {
  let folder = '';

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'mooring-kube-config-exec-'));
  });
  after(() => rm(folder, { recursive: true }));

  const file = (name: string) => join(folder, name);

  /** A kubeconfig with that script as its plugin. */
  async function kubeconfig(name: string, lines: readonly string[]): Promise<string> {
    await writeScript(name, lines);
    const exec = { apiVersion, command: file(name), args: [], interactiveMode: 'Never' };
    const document = {
      apiVersion: 'v1',
      kind: 'Config',
      clusters: [{ name: 'c', cluster: { server: 'https://10.0.0.1:6443' } }],
      users: [{ name: 'u', user: { exec } }],
      contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
      'current-context': 'x',
    };
    await writeFile(file(`${name}.yaml`), stringify(document));
    return file(`${name}.yaml`);
  }

  async function writeScript(name: string, lines: readonly string[]): Promise<void> {
    await writeFile(file(name), ['#!/bin/sh', ...lines, ''].join('\n'));
    await chmod(file(name), 0o755);
  }

  const answerOf = (status: object) =>
    `cat <<END\n${JSON.stringify({ apiVersion, kind: 'ExecCredential', status })}\nEND`;

  it('runs it, and again only when its credentials were refused', async () => {
    await writeFile(file('count'), '');
    const counting = [`printf x >> ${file('count')}`, `n=$(wc -c < ${file('count')} | tr -d ' ')`];
    const path = await kubeconfig('plugin', [...counting, answerOf({ token: 'exec-$n' })]);
    const clock = fakeClock();
    const connection = await loadKubeConnection({ clock, log: silentLog, kubeconfig: path });
    const first = await connection.credentials();
    assert.equal(first.headers['authorization'], 'Bearer exec-1');
    await clock.advance(600_000);
    assert.equal(await connection.credentials(), first);
    await clock.advance(10_000);
    assert.equal((await connection.credentials(first)).headers['authorization'], 'Bearer exec-2');
    assert.equal(await readFile(file('count'), 'utf8'), 'xx');
  });

  it('keeps the credentials while it hangs, kills it with what it started, and runs it again later', async () => {
    const expirationTimestamp = '2026-01-01T00:00:00Z';
    const path = await kubeconfig('hanging', [answerOf({ token: 'first', expirationTimestamp })]);
    const clock = fakeClock();
    const lines: string[] = [];
    const log = createLog({ clock, level: 'debug', format: 'text', write: (line) => lines.push(line) });
    const connection = await loadKubeConnection({ clock, log, kubeconfig: path });
    const first = await connection.credentials();
    const pid = file('pid');
    await writeScript('hanging', ['sleep 600 &', `echo $! > ${pid}.new`, `mv ${pid}.new ${pid}`, 'wait']);
    await clock.advance(60_000);
    const renewed = connection.credentials();
    const running = Number(await eventually(() => readFile(pid, 'utf8')));
    await clock.advance(30_000);
    assert.equal(await renewed, first);
    assert.match(lines.join(''), /the exec plugin \S+hanging has not answered within 30 s/);
    await eventually(() => assert.throws(() => process.kill(running, 0)));
    await writeScript('hanging', [answerOf({ token: 'second' })]);
    await clock.advance(60_000);
    assert.equal((await connection.credentials()).headers['authorization'], 'Bearer second');
    assert.equal(clock.pending, 0);
  });

  it('runs it without input', async () => {
    const path = await kubeconfig('asking', ['read code || { echo no input >&2; exit 1; }']);
    await assert.rejects(loadKubeConnection({ clock: fakeClock(), log: silentLog, kubeconfig: path }), /no input/);
  });
});
