import { execFile, spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ApiSuite } from './api-under-test.ts';
import { type Kit, runFact, startRun } from './kit.ts';
import type { Use } from './kubectl-use.ts';
import { kubectlUses } from './kubectl-uses.suite.ts';
import { like } from './like.ts';
import type { Result, Terminal } from './terminal.ts';

/** kubectl as a client: the shape of what it prints, and what it changed. Without kubectl everything is skipped. */
export function kubectlSuite(kubectl: string | undefined): ApiSuite {
  return {
    name: 'kubectl',
    async run(api, check) {
      const run = await startRun(api);
      const folder = await mkdtemp(join(tmpdir(), 'mooring-kubectl-'));
      const config = join(folder, 'config');
      await api.writeKubeconfig(config);
      const common = [`--kubeconfig=${config}`, `--cache-dir=${join(folder, 'cache')}`, `--namespace=${run.ns}`];
      const env = { PATH: process.env['PATH'], HOME: folder };
      const one = async (use: Use) => {
        const leftOut =
          use.realOnly !== undefined && api.kind !== 'real' ? `real server only: ${use.realOnly}` : undefined;
        const skip = kubectl === undefined ? 'there is no kubectl' : leftOut;
        const body = (k: Kit) => use.run(terminal(k, kubectl ?? '', common, env));
        await check(`${use.id} ${use.says}`, () => runFact({ ...use, run: body }, run), { skip });
      };
      const queue = [...kubectlUses];
      const worker = async () => {
        for (let use = queue.shift(); use; use = queue.shift()) await one(use);
      };
      try {
        await Promise.all([worker(), worker(), worker()]);
      } finally {
        await run.client.call('DELETE', `/api/v1/namespaces/${run.ns}`).catch(() => undefined);
        run.client.close();
        await rm(folder, { recursive: true, force: true });
      }
    },
  };
}

function terminal(k: Kit, kubectl: string, common: string[], env: NodeJS.ProcessEnv): Terminal {
  const run = (args: string[], stdin?: string) =>
    new Promise<Result>((resolve) => {
      const child = execFile(kubectl, [...common, ...args], { env, timeout: 30_000 }, (error, stdout, stderr) => {
        const code = error === null ? 0 : typeof error.code === 'number' ? error.code : -1;
        resolve({ code, stdout, stderr });
      });
      child.stdin?.end(stdin ?? '');
    });
  return {
    k,
    run,
    async ok(args, stdin) {
      const { code, stdout, stderr } = await run(args, stdin);
      like(code, 0, `kubectl ${args.join(' ')}: ${stderr}${stdout}`);
      return stdout;
    },
    async follow(args, meanwhile, enough) {
      const child = spawn(kubectl, [...common, ...args], { env, stdio: ['ignore', 'pipe', 'ignore'] });
      let text = '';
      let changing: NodeJS.Timeout | undefined;
      try {
        await new Promise<void>((resolve) => {
          const timer = setTimeout(resolve, 10_000);
          child.stdout.on('data', (chunk: Buffer) => {
            text += chunk.toString('utf8');
            // A watch of one object begins with that object, which kubectl has printed and leaves out. A change before
            // that is not shown, so another one follows.
            if (changing === undefined && text.split('\n').length > 2) {
              void meanwhile();
              changing = setInterval(() => void meanwhile(), 500);
            }
            if (enough(text)) {
              clearTimeout(timer);
              resolve();
            }
          });
        });
      } finally {
        clearInterval(changing);
        child.kill('SIGKILL');
      }
      return text;
    },
  };
}
