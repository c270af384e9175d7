import { once } from 'node:events';
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { Agent, request } from 'node:https';
import { createInterface } from 'node:readline';
import { gunzipSync } from 'node:zlib';

/** A Kubernetes object as it came over the wire: nothing is promised but the usual frame. */
export interface KubeObject {
  apiVersion?: string;
  kind?: string;
  metadata: {
    name: string;
    uid: string;
    resourceVersion: string;
    namespace?: string;
    labels?: Record<string, string>;
    annotations?: Record<string, string>;
    finalizers?: string[];
    [key: string]: unknown;
  };
  spec?: Record<string, unknown>;
  status?: Record<string, unknown>;
  [key: string]: unknown;
}

export interface Answer {
  status: number;
  headers: IncomingHttpHeaders;
  text: string;
  /** The parsed body when it is JSON, else undefined. */
  body: unknown;
  /** The parsed body, taken as one object. */
  object: KubeObject;
  /** The items of the parsed body, taken as a list. */
  items: KubeObject[];
}

export interface CallOptions {
  query?: Record<string, string | number | boolean>;
  /** Sent as JSON. */
  body?: unknown;
  /** Sent as it is, instead of `body`. */
  text?: string | Buffer;
  /** Content type; default `application/json` when there is a body; null sends none. */
  type?: string | null;
  headers?: Record<string, string>;
  /** Bearer token instead of the client's own; null is anonymous. */
  token?: string | null;
}

export interface WatchEvent {
  type: string;
  object: KubeObject & { code?: number; reason?: string; message?: string };
}

export interface Watch {
  status: number;
  headers: IncomingHttpHeaders;
  /** The next event; undefined once the stream has ended; throws when nothing comes within `ms`. */
  next(ms?: number): Promise<WatchEvent | undefined>;
  /** The next `count` events; throws when the stream ends before. */
  take(count: number): Promise<WatchEvent[]>;
  /** All events until the server ends the stream. */
  rest(ms?: number): Promise<WatchEvent[]>;
  close(): void;
}

/** A client that adds nothing to what HTTP says: no retries, no defaults but the token, every status is an answer. */
export interface Client {
  call(method: string, path: string, options?: CallOptions): Promise<Answer>;
  /** Opens a watch. Where the server refuses it, throws with the status and text in the message. */
  watch(path: string, query?: CallOptions['query'], options?: CallOptions): Promise<Watch>;
  close(): void;
}

export function makeClient(url: string, ca: string, token: string): Client {
  const agent = new Agent({ ca, keepAlive: true, maxSockets: 16 });
  const open = new Set<() => void>();
  const send = async (method: string, path: string, options: CallOptions, own?: Agent): Promise<IncomingMessage> => {
    const query = new URLSearchParams();
    for (const [key, value] of Object.entries(options.query ?? {})) query.set(key, String(value));
    const bytes = options.text ?? (options.body === undefined ? undefined : JSON.stringify(options.body));
    const bearer = options.token === undefined ? token : options.token;
    const type = options.type === undefined ? 'application/json' : options.type;
    const call = request(`${url}${path}${query.size > 0 ? `?${query}` : ''}`, {
      method,
      agent: own ?? agent,
      headers: {
        'user-agent': 'conformance',
        ...(bearer === null ? {} : { authorization: `Bearer ${bearer}` }),
        ...(bytes === undefined ? {} : { 'content-length': String(Buffer.byteLength(bytes)) }),
        ...(bytes === undefined || type === null ? {} : { 'content-type': type }),
        ...options.headers,
      },
    });
    call.end(bytes);
    const [response] = (await once(call, 'response', { signal: AbortSignal.timeout(60_000) })) as [IncomingMessage];
    return response;
  };
  return {
    async call(method, path, options = {}) {
      const response = await send(method, path, options);
      const chunks: Buffer[] = [];
      for await (const chunk of response) chunks.push(chunk as Buffer);
      return answerOf(response, Buffer.concat(chunks));
    },
    async watch(path, query = {}, options = {}) {
      // A connection of its own, so that closing it is what the server sees.
      const own = new Agent({ ca, keepAlive: false });
      const response = await send('GET', path, { ...options, query: { watch: '1', ...query } }, own);
      if (response.statusCode !== 200) {
        const chunks: Buffer[] = [];
        for await (const chunk of response) chunks.push(chunk as Buffer);
        throw new Error(`watch of ${path} refused: ${response.statusCode} ${Buffer.concat(chunks)}`);
      }
      const close = () => {
        response.destroy();
        own.destroy();
        open.delete(close);
      };
      open.add(close);
      return readEvents(response, close);
    },
    close() {
      for (const close of [...open]) close();
      agent.destroy();
    },
  };
}

function answerOf(response: IncomingMessage, bytes: Buffer): Answer {
  const raw = response.headers['content-encoding'] === 'gzip' ? gunzipSync(bytes) : bytes;
  const text = raw.toString('utf8');
  let body: unknown;
  if (text !== '' && response.headers['content-type']?.startsWith('application/json')) body = JSON.parse(text);
  return {
    status: response.statusCode ?? 0,
    headers: response.headers,
    text,
    body,
    object: body as KubeObject,
    items: (body as { items?: KubeObject[] } | undefined)?.items ?? [],
  };
}

function readEvents(response: IncomingMessage, close: () => void): Watch {
  const lines = createInterface({ input: response });
  const waiting: WatchEvent[] = [];
  let ended = false;
  let wake = () => {};
  lines.on('line', (line) => {
    waiting.push(JSON.parse(line) as WatchEvent);
    wake();
  });
  lines.on('close', () => {
    ended = true;
    wake();
  });
  response.on('error', () => {});
  lines.on('error', () => {});
  const next = async (ms = 5_000): Promise<WatchEvent | undefined> => {
    const deadline = Date.now() + ms;
    while (waiting.length === 0 && !ended) {
      const left = deadline - Date.now();
      if (left <= 0) throw new Error(`no watch event within ${ms} ms`);
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, left);
        wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
    return waiting.shift();
  };
  return {
    status: response.statusCode ?? 0,
    headers: response.headers,
    next,
    async take(count) {
      const events: WatchEvent[] = [];
      while (events.length < count) {
        const event = await next();
        if (!event) throw new Error(`the watch ended after ${events.length} of ${count} events`);
        events.push(event);
      }
      return events;
    },
    async rest(ms = 10_000) {
      const events: WatchEvent[] = [];
      for (let event = await next(ms); event; event = await next(ms)) events.push(event);
      return events;
    },
    close,
  };
}
