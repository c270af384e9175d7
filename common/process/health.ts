import type { IncomingMessage, ServerResponse } from 'node:http';
import type { MetricRegistry } from './metrics.ts';

/** One condition for a process to be live or ready. */
export interface HealthCheck {
  readonly name: string;
  /** Why the check fails; undefined when it passes. Must be cheap: every probe calls it. */
  check(): string | undefined;
  /** What else is worth saying while it passes. */
  note?(): string | undefined;
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
 * Answers `/livez`, `/readyz`, `/healthz` (= livez), one check of them (`/livez/NAME`) and `/metrics`; undefined for
 * other paths. As in Kubernetes' own components, a failed check is a 500 whose body names it, and `?verbose` lists all
 * checks.
 *
 * @param target path and query as in the request line
 */
export async function answerHealth(
  { live, ready, metrics }: HealthOptions,
  target: string,
): Promise<HealthAnswer | undefined> {
  const [path, query = ''] = target.split('?', 2);
  if (path === '/metrics') return { status: 200, contentType: metrics.contentType, body: await metrics.text() };
  const [, kind, name] = /^\/(livez|healthz|readyz)(?:\/([\w-]+))?$/.exec(path ?? '') ?? [];
  if (kind === undefined) return undefined;
  const checks = kind === 'readyz' ? ready : live;
  if (name === undefined) return answerChecks(`/${kind}`, checks, query);
  const chosen = checks.filter((check) => check.name === name);
  return chosen.length === 0 ? undefined : answerChecks(`/${kind}`, chosen, query);
}

function answerChecks(path: string, checks: readonly HealthCheck[], query: string): HealthAnswer {
  const results = checks.map((check) => ({ name: check.name, problem: check.check(), note: check.note?.() }));
  const failed = results.some(({ problem }) => problem !== undefined);
  const lines = results.map(({ name, problem, note }) =>
    problem === undefined ? `[+]${name} ok${note === undefined ? '' : `: ${note}`}` : `[-]${name}: ${problem}`,
  );
  const summary = `${path.slice(1)} check ${failed ? 'failed' : 'passed'}`;
  const verbose = failed || new URLSearchParams(query).has('verbose');
  return {
    status: failed ? 500 : 200,
    contentType: plain,
    body: verbose ? `${[...lines, summary].join('\n')}\n` : 'ok',
  };
}

/** A handler of `answerHealth` for node's HTTP server; other paths are a 404. */
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
