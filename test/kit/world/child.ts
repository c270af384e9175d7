import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';

/** A process of ours in the sandbox; what it prints goes to a file. */
export interface Child {
  readonly pid: number;
  readonly logFile: string;
  readonly running: boolean;
  /** SIGTERM, and SIGKILL after five seconds; resolves with the exit code, undefined when a signal ended it. */
  stop(): Promise<number | undefined>;
  /** SIGKILL: as when the machine dies. */
  kill(): Promise<void>;
}

export function startChild(args: readonly string[], logFile: string, env: NodeJS.ProcessEnv = process.env): Child {
  return startProgram([process.execPath, ...args], logFile, env);
}

/** As `startChild`, with the program first. */
export function startProgram(
  [program = '', ...args]: readonly string[],
  logFile: string,
  env: NodeJS.ProcessEnv = process.env,
): Child {
  const log = openSync(logFile, 'a');
  const child: ChildProcess = spawn(program, args, { stdio: ['ignore', log, log], env });
  closeSync(log);
  let exited: { readonly code: number | undefined } | undefined;
  const gone = new Promise<number | undefined>((resolve) => {
    child.once('exit', (code) => {
      exited = { code: code ?? undefined };
      resolve(code ?? undefined);
    });
  });
  // The sandbox may be ended at any moment; what it started must not outlive it.
  const onExit = () => child.kill('SIGKILL');
  process.once('exit', onExit);
  void gone.then(() => process.removeListener('exit', onExit));
  return {
    pid: child.pid ?? 0,
    logFile,
    get running() {
      return exited === undefined;
    },
    async stop() {
      if (exited) return exited.code;
      child.kill('SIGTERM');
      const hard = setTimeout(() => child.kill('SIGKILL'), 5000);
      const code = await gone;
      clearTimeout(hard);
      return code;
    },
    async kill() {
      child.kill('SIGKILL');
      await gone;
    },
  };
}
