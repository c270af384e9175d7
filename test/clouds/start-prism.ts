import { spawn } from 'node:child_process';
import { freePort } from '../kit/free-ports.ts';

export interface RunningPrism {
  readonly url: string;
  /** What it has refused so far: requests and answers that are not as the document has them. */
  violations(): readonly string[];
  close(): Promise<void>;
}

const startMs = 120_000;

/** Prism before a server: what is not as the OpenAPI document has it becomes an error. */
export async function startPrism(script: string, document: string, upstream: string): Promise<RunningPrism> {
  const port = await freePort();
  const args = ['proxy', '--errors', '-h', '127.0.0.1', '-p', String(port), document, upstream];
  const child = spawn(process.execPath, [script, ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
  const end = () => child.kill('SIGKILL');
  process.once('exit', end);
  const lines: string[] = [];
  const listening = Promise.withResolvers<void>();
  const read = (chunk: Buffer) => {
    for (const line of chunk.toString().split('\n')) {
      if (line.includes('Prism is listening')) listening.resolve();
      if (/Violation|terminated with error/.test(line)) lines.push(line);
    }
  };
  child.stdout.on('data', read);
  child.stderr.on('data', read);
  child.once('exit', (code) => listening.reject(new Error(`prism ended with ${code}`)));
  const timer = setTimeout(() => listening.reject(new Error('prism does not listen')), startMs);
  try {
    await listening.promise;
  } finally {
    clearTimeout(timer);
  }
  return {
    url: `http://127.0.0.1:${port}`,
    // The document has no answers but successes, so what it says of others is a warning alone.
    violations: () => lines.filter((line) => !line.includes('Unable to match the returned status code')),
    async close() {
      process.off('exit', end);
      if (child.exitCode !== null) return;
      const ended = new Promise((resolve) => child.once('exit', resolve));
      end();
      await ended;
    },
  };
}
