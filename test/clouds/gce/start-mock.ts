import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';

/** Google's mock of Compute Engine behind HTTP. */
export interface RunningMock {
  /** `http://host:port` */
  readonly url: string;
  /** Sends a request to the API and answers its JSON. */
  send(method: string, path: string, body?: unknown): Promise<unknown>;
  close(): void;
}

export async function startMock(program: string): Promise<RunningMock> {
  const child = spawn(program, ['mock'], { stdio: ['ignore', 'pipe', 'inherit'] });
  const [line] = await once(child.stdout, 'data');
  const url = `http://${String(line).trim()}`;
  return {
    url,
    async send(method, path, body) {
      const json = body === undefined ? {} : { body: JSON.stringify(body) };
      const answer = await fetch(`${url}/compute/v1/projects/proj/${path}`, { method, ...json });
      assert.ok(answer.ok, `${method} ${path}: ${answer.status}`);
      return answer.json();
    },
    close: () => void child.kill(),
  };
}
