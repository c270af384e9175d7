import { randomBytes, timingSafeEqual } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { errorFields, type Log } from '../../../common/process/log.ts';
import { isKubeError } from '../../kube/api.ts';
import { listenOn } from '../../runtime/serving/listen-address.ts';
import type { NamedSubject } from '../explain/explain-subject.ts';
import type { ClusterFeed } from './cluster-feed.ts';
import type { PageFiles } from './page-files.ts';
import type { Explained, FaultAction, Update } from './update.ts';

/** What the sandbox can break. The command never has any. */
export interface Faults {
  readonly actions: readonly FaultAction[];
  /** Causes one. Answers what happened, in words; throws an Error for people. */
  cause(action: string, node: string): Promise<string>;
}

export interface UiOptions {
  readonly feed: Pick<ClusterFeed, 'snapshot' | 'subscribe'>;
  /** Asked for when a browser first comes. */
  readonly page: () => Promise<PageFiles>;
  readonly log: Log;
  /** On 127.0.0.1; 0: any free one. */
  readonly port: number;
  explain(subject: NamedSubject): Promise<Explained>;
  readonly faults?: Faults | undefined;
}

export interface RunningUi {
  /** With the token: every client that has it sees the page. */
  readonly url: string;
  /** Closes every connection. Safe to repeat. */
  close(): Promise<void>;
}

const host = '127.0.0.1';
const security: Readonly<Record<string, string>> = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; " +
    "form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
  'cache-control': 'no-store',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
};
const fileTypes: Readonly<Record<string, { readonly part: keyof PageFiles; readonly type: string }>> = {
  '': { part: 'html', type: 'text/html; charset=utf-8' },
  'main.js': { part: 'script', type: 'text/javascript; charset=utf-8' },
  'page.css': { part: 'style', type: 'text/css; charset=utf-8' },
  'icon.svg': { part: 'icon', type: 'image/svg+xml' },
};
/** A page that reads too slowly gets everything again instead of ever more changes. */
const maxWaitingBytes = 4 * 1024 * 1024;
const maxBodyBytes = 4096;

interface Answer {
  readonly status: number;
  readonly type: string;
  readonly body: string;
}

/** Serves the page on loopback, below a path that cannot be guessed. Rejects with the system's error. */
export async function serveUi(options: UiOptions): Promise<RunningUi> {
  const { feed, page, log, faults } = options;
  const token = randomBytes(24).toString('base64url');
  let made: Promise<PageFiles> | undefined;
  let authority = '';

  async function file(name: string): Promise<Answer | undefined> {
    if (!Object.hasOwn(fileTypes, name)) return undefined;
    const { part, type } = fileTypes[name]!;
    made ??= page();
    return { status: 200, type, body: (await made)[part] };
  }

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<Answer | undefined> {
    const { method = '', headers } = request;
    // A foreign name that resolves to loopback (DNS rebinding) is not ours.
    if (![authority, authority.replace(host, 'localhost')].includes(headers.host ?? ''))
      return failure(421, `the host is not ${authority}`);
    const [path = '', query = ''] = (request.url ?? '/').split('?', 2);
    const [, given = '', name, ...deeper] = path.split('/');
    if (!sameText(given, token) || name === undefined || deeper.length > 0)
      return failure(404, 'nothing is here: open the address that the command printed');
    if (method === 'POST' && faults !== undefined) return cause(faults, name, request);
    if (method !== 'GET' && method !== 'HEAD') return failure(405, 'the page only reads');
    if (name === 'updates') return stream(response);
    if (name === 'explain') return explain(new URLSearchParams(query));
    return (await file(name)) ?? failure(404, `${name} is not served here`);
  }

  async function explain(query: URLSearchParams): Promise<Answer> {
    const subject = subjectOf(query);
    if (subject === undefined) return failure(400, 'expected ?node=NAME or ?service=NAMESPACE/NAME');
    try {
      return ok(await options.explain(subject));
    } catch (error) {
      if (!isKubeError(error)) throw error;
      const why = error.status === 403 ? `this credential may not read it: ${error.message}` : error.message;
      return failure(error.status === 404 ? 404 : 502, error.status === 404 ? 'it is not there any more' : why);
    }
  }

  async function cause(own: Faults, name: string, request: IncomingMessage): Promise<Answer> {
    if (request.headers.origin !== `http://${request.headers.host}`) return failure(403, 'another origin asks');
    if (name !== 'faults') return failure(404, `${name} is not served here`);
    const { action, node } = JSON.parse(await bodyOf(request)) as {
      readonly action?: unknown;
      readonly node?: unknown;
    };
    if (!own.actions.some((one) => one.name === action) || typeof node !== 'string')
      return failure(
        400,
        `action: ${JSON.stringify(action)}, expected ${own.actions.map((one) => one.name).join(', ')}`,
      );
    try {
      return ok({ done: await own.cause(String(action), node) });
    } catch (error) {
      return failure(409, String(errorFields(error).error));
    }
  }

  /** Server-sent events: everything first, then each change. */
  function stream(response: ServerResponse): undefined {
    response.writeHead(200, { ...security, 'content-type': 'text/event-stream' });
    let behind = false;
    const send = (update: Update) => void response.write(`data: ${JSON.stringify(update)}\n\n`);
    const sendAll = () => send({ ...feed.snapshot(), ...(faults && { faults: faults.actions }) });
    sendAll();
    const unsubscribe = feed.subscribe((update) => {
      behind ||= response.writableLength > maxWaitingBytes;
      if (!behind) send(update);
    });
    response.on('drain', () => {
      if (!behind) return;
      behind = false;
      sendAll();
    });
    response.on('close', unsubscribe);
  }

  const server = createServer({ headersTimeout: 5_000, requestTimeout: 10_000 }, (request, response) => {
    answer(request, response)
      .catch((error: unknown) => {
        log.warn('the page was not answered', errorFields(error));
        return failure(500, 'internal error');
      })
      .then((found) => {
        if (found === undefined) return;
        const { status, type, body } = found;
        response.writeHead(status, { ...security, 'content-type': type, 'content-length': Buffer.byteLength(body) });
        response.end(request.method === 'HEAD' ? undefined : body);
      })
      .catch((error: unknown) => log.debug('an answer of the page was lost', errorFields(error)));
  });
  const port = await listenOn(server, { host, port: options.port });
  authority = `${host}:${port}`;
  return {
    url: `http://${authority}/${token}/`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function subjectOf(query: URLSearchParams): NamedSubject | undefined {
  const node = query.get('node');
  if (node) return { kind: 'node', name: node };
  const [namespace, name, ...more] = (query.get('service') ?? '').split('/');
  return namespace && name && more.length === 0 ? { kind: 'service', namespace, name } : undefined;
}

function sameText(given: string, expected: string): boolean {
  const [a, b] = [Buffer.from(given), Buffer.from(expected)];
  return a.length === b.length && timingSafeEqual(a, b);
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  let text = '';
  for await (const part of request) {
    text += part;
    if (text.length > maxBodyBytes) throw new Error(`a body of more than ${maxBodyBytes} bytes`);
  }
  return text;
}

function ok(value: unknown): Answer {
  return { status: 200, type: 'application/json', body: JSON.stringify(value) };
}

function failure(status: number, message: string): Answer {
  return { status, type: 'text/plain; charset=utf-8', body: `${message}\n` };
}
