import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';

export interface Finished {
  readonly code: number;
  /** stdout and stderr as a terminal shows them. */
  readonly output: string;
}

export interface Shell {
  /** Runs one command after the other in one bash, so that variables stay. Rejects after the time limit. */
  run(command: string, limitMs: number): Promise<Finished>;
  /** Ends the bash. Safe to repeat. */
  close(): void;
}

/** Starts a bash in a folder. */
export function openShell(cwd: string, env: NodeJS.ProcessEnv): Shell {
  const bash = spawn('bash', ['--noprofile', '--norc'], { cwd, env, stdio: ['pipe', 'pipe', 'inherit'] });
  bash.stdin.on('error', () => {});
  let text = '';
  let changed = () => {};
  bash.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk;
    changed();
  });
  return {
    async run(command, limitMs) {
      const end = `end-${randomUUID()}`;
      text = '';
      // In this very shell, and without its stdin, from which a command would read the next one.
      bash.stdin.write(`{ ${command}\n} 2>&1 </dev/null; printf '\\n%s %s\\n' ${end} $?\n`);
      return new Promise((resolve, reject) => {
        const timer = setTimeout(() => settle(() => reject(new Error(`not done in ${limitMs} ms:\n${text}`))), limitMs);
        const onExit = () => settle(() => reject(new Error(`the shell ended:\n${text}`)));
        const settle = (then: () => void) => {
          clearTimeout(timer);
          bash.off('exit', onExit);
          changed = () => {};
          then();
        };
        bash.once('exit', onExit);
        changed = () => {
          const found = new RegExp(`\\n${end} (\\d+)\\n`).exec(text);
          if (found) settle(() => resolve({ code: Number(found[1]), output: text.slice(0, found.index) }));
        };
      });
    },
    close() {
      bash.kill('SIGKILL');
    },
  };
}
