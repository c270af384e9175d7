import { spawn } from 'node:child_process';

export interface SandboxProcess {
  /** The line that the page tells its reader to enter in another terminal. */
  readonly exportLine: string;
  /** Ends it as Ctrl-C does. Rejects when it does not end by that. */
  stop(): Promise<void>;
}

/**
 * Starts a command line that keeps a sandbox up, and waits until its tour is over, with `--ui` for its page alone.
 *
 * @throws Error with the output when it ends before, or after `limitMs`
 */
export async function startSandboxProcess(
  command: string,
  options: { readonly cwd: string; readonly env: NodeJS.ProcessEnv; readonly limitMs: number },
): Promise<SandboxProcess> {
  const { cwd, env, limitMs } = options;
  // A process group of its own: the terminal sends Ctrl-C to npm and to what npm runs.
  const child = spawn('bash', ['-c', command], { cwd, env, detached: true, stdio: ['ignore', 'pipe', 'pipe'] });
  const ended = new Promise((resolve) => child.once('exit', resolve));
  const kill = (signal: NodeJS.Signals) => {
    if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
    process.kill(-child.pid, signal);
  };
  // Its page is there before the tour.
  const isReady = / --ui\b/.test(command) ? /^http:\S+$/m : /The sandbox stays up/;
  let output = '';
  const exportLine = await new Promise<string>((resolve, reject) => {
    const timer = setTimeout(() => fail(`not up in ${limitMs} ms`), limitMs);
    const fail = (why: string) => {
      clearTimeout(timer);
      kill('SIGKILL');
      reject(new Error(`${command}: ${why}\n${output}`));
    };
    const read = (chunk: string) => {
      output += chunk;
      const line = /^export KUBECONFIG=.*$/m.exec(output)?.[0];
      if (line === undefined || !isReady.test(output)) return;
      clearTimeout(timer);
      resolve(line);
    };
    child.stdout.setEncoding('utf8').on('data', read);
    child.stderr.setEncoding('utf8').on('data', read);
    child.once('exit', (code) => fail(`ended with ${code}`));
  });
  return {
    exportLine,
    async stop() {
      kill('SIGINT');
      let isLate = false;
      const timer = setTimeout(() => {
        isLate = true;
        kill('SIGKILL');
      }, 30_000);
      await ended;
      clearTimeout(timer);
      if (isLate) throw new Error('the sandbox does not end on Ctrl-C');
    },
  };
}
