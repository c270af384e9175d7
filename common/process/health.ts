import type { IncomingMessage, ServerResponse } from 'node:http';
import type { MetricRegistry } from './metrics.ts';

/** One thing that must be so for a process to be alive or ready. */
export interface HealthCheck {
  readonly name: string;
  /** Why it is not so; undefined when it is. Cheap: it is asked on every probe. */
  check(): string | undefined;
}

export interface HealthOptions {
  readonly live: readonly HealthCheck[];
  readonly ready: readonly HealthCheck[];
  readonly metrics: MetricRegistry;
}

export interface HealthAnswer {
  readonly status: number;
  readonly contentType: string;
  readonly body: string;
}

const plain = 'text/plain; charset=utf-8';

/**
 * Answers `/livez`, `/readyz`, `/healthz` (= livez) and `/metrics`; undefined for any other path. As with Kubernetes' own components, a failed check is a 500
 * whose body names it, and `?verbose` lists every check.
 *
 * @param target path and query as in the request line
 */
export async function answerHealth(
  { live, ready, metrics }: HealthOptions,
  target: string,
): Promise<HealthAnswer | undefined> {
  const [path, query = ''] = target.split('?', 2);
  if (path === '/metrics') return { status: 200, contentType: metrics.contentType, body: await metrics.text() };
  if (path === '/livez' || path === '/healthz') return answerChecks(path, live, query);
  if (path === '/readyz') return answerChecks(path, ready, query);
  return undefined;
}

function answerChecks(path: string, checks: readonly HealthCheck[], query: string): HealthAnswer {
  const results = checks.map((check) => ({ name: check.name, problem: check.check() }));
  const failed = results.some(({ problem }) => problem !== undefined);
  const lines = results.map(({ name, problem }) =>
    problem === undefined ? `[+]${name} ok` : `[-]${name}: ${problem}`,
  );
  const summary = `${path.slice(1)} check ${failed ? 'failed' : 'passed'}`;
  const verbose = failed || new URLSearchParams(query).has('verbose');
  return {
    status: failed ? 500 : 200,
    contentType: plain,
    body: verbose ? `${[...lines, summary].join('\n')}\n` : 'ok',
  };
}

/** The same as a handler for node's own HTTP server; any other path is a 404. */
export function healthHandler(options: HealthOptions): (request: IncomingMessage, response: ServerResponse) => void {
  return (request, response) => {
    request.resume();
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      response.writeHead(405, { allow: 'GET, HEAD' }).end();
      return;
    }
    answerHealth(options, request.url ?? '/').then(
      (answer) => {
        const { status, contentType, body } = answer ?? { status: 404, contentType: plain, body: 'not found\n' };
        response.writeHead(status, { 'content-type': contentType, 'content-length': Buffer.byteLength(body) });
        response.end(request.method === 'HEAD' ? undefined : body);
      },
      () => response.writeHead(500).end(),
    );
  };
}
