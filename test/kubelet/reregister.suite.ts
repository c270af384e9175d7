import assert from 'node:assert/strict';
import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '../../common/process/clock.ts';
import { createHttp } from '../../common/process/http.ts';
import type { ApiSuite, ApiUnderTest } from '../conformance/api-under-test.ts';
import { smallPackage } from './harness/packages.ts';
import { type Ended, run } from './harness/run.ts';

const name = 'node-7';

/** The bundled `reregister.cjs`, as the unit runs it, against an API server. */
export const reregisterSuite: ApiSuite = {
  name: 'reregister',
  async run(api, check) {
    const folder = await mkdtemp(join(tmpdir(), 'mooring-reregister-'));
    const { http, close } = createHttp({ clock: systemClock(), tls: { ca: api.caPem } });
    const admin = async (method: string, path: string, body?: unknown) => {
      const answer = await http({
        method,
        url: `${api.url}/api/v1${path}`,
        headers: { authorization: `Bearer ${api.adminToken}`, 'content-type': 'application/json' },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        timeoutMs: 10_000,
      });
      assert.ok(answer.status < 300 || (method === 'DELETE' && answer.status === 404), answer.text);
      return answer.text;
    };
    /** A token of an account without any right. */
    const powerless = async () => {
      const account = { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'reregister-powerless' } };
      await admin('POST', '/namespaces/default/serviceaccounts', account);
      const request = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: {} };
      const path = '/namespaces/default/serviceaccounts/reregister-powerless';
      const { status } = JSON.parse(await admin('POST', `${path}/token`, request));
      return String(status.token);
    };
    const create = (node = name) =>
      admin('POST', '/nodes', { apiVersion: 'v1', kind: 'Node', metadata: { name: node } });
    const remove = (node = name) => admin('DELETE', `/nodes/${node}`);
    try {
      const program = join(folder, 'reregister.cjs');
      const made = await smallPackage();
      await writeFile(program, made.files.find(({ path }) => path === 'lib/reregister.cjs')?.content ?? '');
      const machine = await stubMachine(folder, program, api);

      await check('leaves a kubelet alone whose Node is there', async () => {
        await create();
        const { code, stderr } = await machine.look();
        assert.deepEqual([code, await machine.restarts(), stderr], [0, 0, '']);
      });

      await check(
        'restarts the kubelet once when its Node was deleted, and not again until the pause is over',
        async () => {
          await remove();
          const first = await machine.look();
          assert.equal(first.code, 0, first.stderr);
          assert.match(first.stderr, /the Node is gone: restarting the kubelet, which registers it again node=node-7/);
          assert.equal(await machine.restarts(), 1);
          const second = await machine.look('--log-level=debug');
          assert.match(second.stderr, /1 restarts did not help, the next one comes 5m0?s? after the last/);
          assert.equal(await machine.restarts(), 1);
          await machine.look('--first-pause=0s');
          assert.equal(await machine.restarts(), 2);
        },
      );

      await check('forgets earlier restarts when it sees the Node again', async () => {
        await create();
        await machine.look('--first-pause=0s');
        assert.match(await machine.state(), /"count":0/);
        assert.equal(await machine.restarts(), 2);
      });

      await check('leaves the kubelet alone when the Node is back before it was asked for often enough', async () => {
        await remove();
        const looking = machine.look('--interval=3s', '--answers=3');
        await new Promise((resolve) => setTimeout(resolve, 2500));
        await create();
        const { code, stderr } = await looking;
        assert.equal(code, 0);
        assert.match(stderr, /may be gone, asking again/);
        assert.equal(await machine.restarts(), 2);
      });

      await check('takes no refusal for an absence: a token that is not known, or is for another Node', async () => {
        await remove();
        for (const [token, status] of [
          ['nonsense', 401],
          [await powerless(), 403],
          // The embedded server lets a kubelet read every Node.
          ...(api.kind === 'real' ? ([[api.nodeToken('node-8'), 403]] as const) : []),
        ] as const) {
          await machine.join(api.kubeconfig(token));
          const { code, stderr } = await machine.look();
          assert.equal(code, 0);
          assert.match(stderr, new RegExp(`is unknown, the kubelet is left alone reason="status ${status}"`));
        }
        await machine.join(api.kubeconfig(api.nodeToken(name)));
        assert.equal(await machine.restarts(), 2);
      });

      await check(
        'leaves alone a kubelet that is stopped, or has only just started, and a machine that has only just',
        async () => {
          for (const [kubelet, args, reason] of [
            [{ active: false }, [], /the kubelet does not run/],
            [{ forSeconds: 10 }, ['--after-start=5m'], /the kubelet runs for less than 5m/],
            [{}, ['--after-boot=100000h'], /the machine runs for less than 100000h/],
          ] as const) {
            await machine.kubelet(kubelet);
            const { code, stderr } = await machine.look('--log-level=debug', ...args);
            assert.equal(code, 0, stderr);
            assert.match(stderr, reason);
          }
          await machine.kubelet({});
          assert.equal(await machine.restarts(), 2);
        },
      );

      await check('cannot restart without counting: a state file that is broken or not writable', async () => {
        await machine.writeState('{');
        const broken = await machine.look();
        assert.equal(broken.code, 1);
        assert.match(broken.stderr, /restarts\.json: .*; remove it/);
        const nowhere = await machine.look(`--state-file=${join(folder, 'nowhere/restarts.json')}`);
        assert.equal(nowhere.code, 1);
        assert.match(nowhere.stderr, /ENOENT/);
        assert.equal(await machine.restarts(), 2);
        await machine.writeState('');
      });

      await check(
        'waits without a word of failure until the machine has joined, and names what is wrong after',
        async () => {
          await machine.leave();
          const missing = await machine.look();
          assert.equal(missing.code, 0);
          assert.match(missing.stderr, /has not joined a cluster yet/);
          await machine.join('kind: Config\n');
          const wrong = await machine.look();
          assert.equal(wrong.code, 1);
          assert.match(wrong.stderr, /kubelet\.conf: current-context: missing/);
          await machine.join(api.kubeconfig(api.nodeToken(name)));
          const nameless = await machine.look('--node-name=');
          assert.equal(nameless.code, 2);
          assert.match(nameless.stderr, /--node-name/);
          assert.equal(await machine.restarts(), 2);
        },
      );
    } finally {
      await remove().catch(() => {});
      await admin('DELETE', '/namespaces/default/serviceaccounts/reregister-powerless').catch(() => {});
      close();
      await rm(folder, { recursive: true, force: true });
    }
  },
};

/** A kubelet.service that is made of a file, before a stub of systemctl. */
async function stubMachine(folder: string, program: string, api: ApiUnderTest) {
  const at = (file: string) => join(folder, file);
  await mkdir(at('bin'));
  await writeFile(
    at('bin/systemctl'),
    `#!/bin/sh
case "$*" in
"show kubelet.service --property=ActiveState --property=ActiveEnterTimestampMonotonic") cat '${at('unit')}' ;;
"try-restart kubelet.service") echo restart >>'${at('restarts')}' ;;
*) echo "unexpected: $*" >&2; exit 1 ;;
esac
`,
  );
  await chmod(at('bin/systemctl'), 0o755);
  const machine = {
    async kubelet({ active = true, forSeconds = 0 }: { active?: boolean; forSeconds?: number }) {
      const since = forSeconds === 0 ? 1 : Math.round(Number(process.hrtime.bigint()) / 1000 - forSeconds * 1e6);
      const state = active ? 'active' : 'inactive';
      await writeFile(at('unit'), `ActiveState=${state}\nActiveEnterTimestampMonotonic=${since}\n`);
    },
    join: (kubeconfig: string) => writeFile(at('kubelet.conf'), kubeconfig),
    leave: () => rm(at('kubelet.conf')),
    look: (...args: string[]): Promise<Ended> =>
      run(
        process.execPath,
        [
          program,
          'run',
          `--kubeconfig=${at('kubelet.conf')}`,
          `--state-file=${at('restarts.json')}`,
          `--node-name=${name}`,
          '--answers=2',
          '--interval=10ms',
          '--after-boot=0s',
          '--after-start=0s',
          ...args,
        ],
        { env: { PATH: `${at('bin')}:${process.env['PATH']}` } },
      ),
    restarts: async () => (await readFile(at('restarts'), 'utf8').catch(() => '')).split('\n').length - 1,
    state: () => readFile(at('restarts.json'), 'utf8'),
    writeState: (text: string) => (text === '' ? rm(at('restarts.json')) : writeFile(at('restarts.json'), text)),
  };
  await machine.kubelet({});
  await machine.join(api.kubeconfig(api.nodeToken(name)));
  return machine;
}
