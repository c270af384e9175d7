import assert from 'node:assert/strict';
import { seededRandom } from '../../../../common/process/random.ts';
import { type FakeClock, fakeClock } from '../../../../common/testing/fake-clock.ts';
import { admin, type User } from '../auth/user.ts';
import { type JsonObject, listOf, objectOf, parseJson, textOf } from '../json.ts';
import { createKubeApiCore, type KubeApiCore, type KubeApiCoreOptions } from '../kube-api-core.ts';

export interface Reply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly warnings: readonly string[];
  readonly text: string;
  /** The parsed body; {} when it is no JSON object. */
  readonly body: JsonObject;
  readonly delayMs: number;
}

export interface CallOptions {
  readonly query?: Record<string, string>;
  readonly headers?: Record<string, string>;
  /** null = go by the headers. */
  readonly user?: User | null;
}

export interface WatchRecord {
  readonly events: { type: string; object: JsonObject }[];
  /** Set when the server ended it. */
  ended: 'orderly' | 'cut' | undefined;
  close(): void;
}

export interface TestApi {
  readonly core: KubeApiCore;
  readonly clock: FakeClock;
  call(method: string, path: string, body?: unknown, options?: CallOptions): Reply;
  /** A PATCH of one of the three kinds. */
  patch(kind: 'merge' | 'strategic' | 'json', path: string, body: unknown, options?: CallOptions): Reply;
  watch(path: string, query?: Record<string, string>, headers?: Record<string, string>): WatchRecord;
}

/** An API in memory on a clock that stands still, asked as the administrator. */
export function testApi(options: Partial<KubeApiCoreOptions> = {}): TestApi {
  const clock = fakeClock();
  const core = createKubeApiCore({ clock, random: seededRandom(7), adminToken: 'admin-token', ...options });

  function call(method: string, path: string, body?: unknown, more: CallOptions = {}): Reply {
    const text = body === undefined || typeof body === 'string' ? body : JSON.stringify(body);
    const answer = core.handle({
      method,
      path,
      query: new URLSearchParams(more.query),
      headers: { ...(text === undefined ? {} : { 'content-type': 'application/json' }), ...more.headers },
      body: text,
      ...(more.user === null ? {} : { user: more.user ?? admin }),
    });
    assert.ok(answer.watch === undefined, 'a watch was answered');
    const { status, headers, warnings, delayMs = 0 } = answer;
    const parsed = headers['content-type']?.startsWith('application/json') === true ? parseJson(answer.body) : {};
    return { status, headers, warnings, text: answer.body, body: objectOf(parsed), delayMs };
  }

  return {
    core,
    clock,
    call,
    patch(kind, path, body, more = {}) {
      const type = { merge: 'merge-patch', strategic: 'strategic-merge-patch', json: 'json-patch' }[kind];
      return call('PATCH', path, body, {
        ...more,
        headers: { 'content-type': `application/${type}+json`, ...more.headers },
      });
    },
    watch(path, query = {}, headers = {}) {
      const answer = core.handle({
        method: 'GET',
        path,
        query: new URLSearchParams({ watch: 'true', ...query }),
        headers,
        user: admin,
      });
      assert.ok(
        answer.watch !== undefined,
        `no watch but ${answer.status} ${answer.watch === undefined ? answer.body : ''}`,
      );
      const stream = answer.watch;
      const record: WatchRecord = { events: [], ended: undefined, close: () => stream.close() };
      stream.start({
        line(line) {
          const event = objectOf(parseJson(line.text));
          record.events.push({ type: textOf(event['type']), object: objectOf(event['object']) });
        },
        end(cut) {
          record.ended = cut ? 'cut' : 'orderly';
        },
      });
      return record;
    },
  };
}

export function meta(object: JsonObject): JsonObject {
  return objectOf(object['metadata']);
}

export function revisionOf(object: JsonObject): number {
  return Number(meta(object)['resourceVersion']);
}

export function namesIn(list: JsonObject): string[] {
  return listOf(list['items']).map((item) => textOf(meta(objectOf(item))['name']));
}

/** The fields of the causes of a 422. */
export function causes(reply: Reply): string[] {
  return listOf(objectOf(reply.body['details'])['causes']).map((cause) => textOf(objectOf(cause)['field']));
}

export function code(reply: Reply): [number, string, string] {
  return [reply.status, textOf(reply.body['reason']), textOf(reply.body['message'])];
}
