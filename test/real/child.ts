import { type ChildProcess, spawn } from 'node:child_process';
import { openSync, readFileSync } from 'node:fs';

/** A server program that was started, with its output in a file. */
export interface Child {
  readonly pid: number;
  /** Says how it ended, once it has. */
  ended(): string | undefined;
  /** Kills it (SIGKILL: its data are disposable) and waits until it is gone. */
  kill(): Promise<void>;
  /** The last lines of its log. */
  logTail(): string;
}

export function startChild(command: string, args: string[], logFile: string): Child {
  const log = openSync(logFile, 'a');
  // A group of its own: Ctrl-C in a terminal must not stop the servers before the suites have ended.
  const child = spawn(command, args, { stdio: ['ignore', log, log], detached: true });
  let ended: string | undefined;
  const gone = new Promise<void>((resolve) => {
    child.once('error', (error) => {
      ended = String(error);
      resolve();
    });
    child.once('exit', (code, signal) => {
      ended = signal ? `signal ${signal}` : `exit code ${code}`;
      resolve();
    });
  });
  return {
    pid: child.pid ?? 0,
    ended: () => ended,
    kill() {
      child.kill('SIGKILL');
      return gone;
    },
    logTail: () => readFileSync(logFile, 'utf8').split('\n').slice(-15).join('\n'),
  };
}

/**
 * Kills `pids` and removes `folder` when this process ends, however it ends, SIGKILL included: a shell waits at a
 * pipe that the system closes with us. `release` lets the shell go without doing anything.
 */
export function guard(pids: number[], folder: string): { release(): void } {
  const script =
    'read -r word; [ "$word" = released ] && exit 0; kill -9 $GUARD_PIDS; sleep 0.2; rm -rf "$GUARD_FOLDER"';
  const shell: ChildProcess = spawn('/bin/sh', ['-c', script], {
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
    env: { PATH: process.env['PATH'], GUARD_PIDS: pids.join(' '), GUARD_FOLDER: folder },
  });
  shell.unref();
  (shell.stdin as unknown as { unref(): void }).unref();
  shell.stdin?.on('error', () => {});
  return { release: () => void shell.stdin?.end('released\n') };
}
