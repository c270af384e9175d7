import { type ChildProcess, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';

export interface AgentExit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface SpawnedAgent {
  readonly child: ChildProcess;
  readonly exited: Promise<AgentExit>;
  /** Resolves with the match as soon as stderr shows it; rejects when the process ends before. */
  says(pattern: RegExp): Promise<RegExpExecArray>;
}

const main = fileURLToPath(new URL('../main.ts', import.meta.url));

/** The real program, as a process of its own with an almost empty environment. */
export function spawnAgent(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
  program = main,
): SpawnedAgent {
  const child = spawn(process.execPath, [program, ...args], { env, stdio: ['ignore', 'pipe', 'pipe'] });
  let stdout = '';
  let stderr = '';
  const listeners = new Set<() => void>();
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
    for (const listener of listeners) listener();
  });
  const exited = new Promise<AgentExit>((resolve) => {
    child.once('close', (code, signal) => resolve({ code, signal, stdout, stderr }));
  });
  return {
    child,
    exited,
    says(pattern) {
      return new Promise((resolve, reject) => {
        const look = () => {
          const found = pattern.exec(stderr);
          if (found === null) return;
          listeners.delete(look);
          resolve(found);
        };
        listeners.add(look);
        look();
        void exited.then(() => reject(new Error(`ended without saying ${pattern}: ${stderr}`)));
      });
    },
  };
}
