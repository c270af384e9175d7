import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { after, before, beforeEach, describe, it } from 'node:test';
import fc from 'fast-check';
import { systemClock } from '../../common/process/clock.ts';
import { silentLog } from '../../common/process/log.ts';
import { fakeClock } from '../../common/testing/fake-clock.ts';
import { KubeError, type WatchCall, type WatchEvent } from './api.ts';
import { type CallRecord, createKubeClient } from './client.ts';
import { fixedConnection } from './testing/fixed-connection.ts';
import { answerJson, startTestServer, statusObject, type TestServer } from './testing/test-server.ts';
import { lineReader, parseWatchLine } from './watch-stream.ts';

function node(name: string, extra: Readonly<Record<string, unknown>> = {}): unknown {
  return { kind: 'Node', apiVersion: 'v1', metadata: { name, uid: `uid-${name}`, resourceVersion: '5' }, ...extra };
}

function line(type: WatchEvent['type'], object: unknown): string {
  return `${JSON.stringify({ type, object })}\n`;
}

describe('a reader of lines', () => {
  it('gives the same lines however the bytes are cut', () => {
    const text = fc.array(fc.string({ unit: 'grapheme', maxLength: 20 }).map((part) => part.replaceAll('\n', ' ')));
    const cuts = fc.array(fc.nat({ max: 60 }), { maxLength: 20 });
    fc.assert(
      fc.property(text, cuts, (lines, sizes) => {
        const bytes = Buffer.from(lines.map((one) => `${one}\n`).join(''));
        const seen: string[] = [];
        const reader = lineReader((one) => seen.push(one.toString('utf8')));
        let at = 0;
        for (const size of sizes) {
          reader.push(bytes.subarray(at, at + size));
          at += size;
        }
        reader.push(bytes.subarray(at));
        reader.end();
        assert.deepEqual(
          seen,
          lines.filter((one) => one !== ''),
        );
      }),
    );
  });

  it('says that bytes are left over', () => {
    const reader = lineReader(() => {});
    reader.push(Buffer.from('{"a":1}\n{"b"'));
    assert.throws(() => reader.end(), /cut within a line, after 4 bytes/);
  });

  it('refuses a line without end', () => {
    const reader = lineReader(() => {}, 100);
    reader.push(Buffer.alloc(100, 97));
    assert.throws(() => reader.push(Buffer.from('a')), /exceeds 100 bytes/);
  });
});

describe('a line of a watch', () => {
  for (const [name, text, problem] of [
    ['no JSON', '{"type":', /no JSON/],
    ['null', 'null', /no watch event/],
    ['of another type', '{"type":"RENAMED","object":{}}', /type is none of/],
    ['without object', '{"type":"ADDED"}', /has no object/],
  ] as const) {
    it(`that is ${name} is an error`, () => assert.throws(() => parseWatchLine(text), problem));
  }
});

describe('a watch', () => {
  let server: TestServer;
  let serve: (response: ServerResponse) => void = () => {};
  let client: ReturnType<typeof createKubeClient>;
  let events: WatchEvent[] = [];
  const records: CallRecord[] = [];

  before(async () => {
    server = await startTestServer((_, response) => serve(response));
    client = createKubeClient({
      config: fixedConnection({ server: server.url, token: 't', tls: { ca: server.caPem } }),
      clock: systemClock(),
      log: silentLog,
      onCall: (record) => records.push(record),
    });
  });
  after(async () => {
    client.close();
    await server.close();
  });
  beforeEach(() => {
    events = [];
  });

  function watch(options: Partial<WatchCall> = {}): Promise<void> {
    return client.api.watch({
      path: '/api/v1/nodes',
      query: { resourceVersion: '4', allowWatchBookmarks: 'true' },
      signal: new AbortController().signal,
      onEvent: (event) => events.push(event),
      ...options,
    });
  }

  async function failed(pending: Promise<void>): Promise<KubeError> {
    const error = await pending.then(
      () => assert.fail('the watch ended in order'),
      (reason: unknown) => reason,
    );
    assert.ok(error instanceof KubeError, String(error));
    return error;
  }

  /** Writes the pieces one after another, each as a packet of its own. */
  function inPieces(response: ServerResponse, pieces: readonly Buffer[], then: () => void): void {
    const [first, ...rest] = pieces;
    if (first === undefined) then();
    else response.write(first, () => setTimeout(() => inPieces(response, rest, then), 1));
  }

  it('gives events in order, whatever the packets, and resolves when the server ends it', async () => {
    const text =
      line('ADDED', node('ä')) +
      line('MODIFIED', node('日本語')) +
      line('BOOKMARK', node('')) +
      line('DELETED', node('ä'));
    const bytes = Buffer.from(text);
    // Cut within a two-byte and a three-byte character.
    const first = bytes.indexOf(Buffer.from('ä')) + 1;
    const second = bytes.indexOf(Buffer.from('日')) + 2;
    serve = (response) => {
      const pieces = [bytes.subarray(0, first), bytes.subarray(first, second), bytes.subarray(second)];
      inPieces(response, pieces, () => response.end());
    };
    await watch();
    assert.deepEqual(
      events.map(({ type, object }) => [type, (object as { metadata: { name: string } }).metadata.name]),
      [
        ['ADDED', 'ä'],
        ['MODIFIED', '日本語'],
        ['BOOKMARK', ''],
        ['DELETED', 'ä'],
      ],
    );
    const request = server.requests.at(-1)!;
    assert.equal(request.query.get('watch'), '1');
    assert.equal(request.query.get('resourceVersion'), '4');
    assert.deepEqual(records.at(-1)?.code, '200');
    assert.deepEqual(records.at(-1)?.verb, 'watch');
  });

  it('reads lines of several megabytes', async () => {
    const images = Array.from({ length: 40_000 }, (_, i) => `registry.example.com/an/image/with/a/long/name/${i}/ü`);
    serve = (response) =>
      response.end(line('ADDED', node('big', { status: { images } })) + line('ADDED', node('small')));
    await watch();
    assert.deepEqual((events[0]!.object as { status: { images: string[] } }).status.images, images);
    assert.equal(events.length, 2);
  });

  it('fails when the stream is cut within a line', async () => {
    serve = (response) => {
      response.write(line('ADDED', node('a')));
      response.write('{"type":"MODIFIED","obj', () => setTimeout(() => response.destroy(), 5));
    };
    const error = await failed(watch());
    assert.deepEqual([error.status, error.reason], [0, 'Cut']);
    assert.equal(events.length, 1);
  });

  it('fails when the stream is cut between lines', async () => {
    serve = (response) => response.write(line('ADDED', node('a')), () => setTimeout(() => response.destroy(), 5));
    assert.equal((await failed(watch())).reason, 'Cut');
  });

  it('fails when the server ends it in order but within a line', async () => {
    serve = (response) => response.end(`${line('ADDED', node('a'))}{"type":"MODIFIED"`);
    assert.match((await failed(watch())).message, /cut within a line/);
  });

  it('fails on a line that is no event, and gives nothing after it', async () => {
    serve = (response) =>
      response.end(`${line('ADDED', node('a'))}<html>bad gateway</html>\n${line('ADDED', node('b'))}`);
    assert.equal((await failed(watch())).reason, 'Unreadable');
    assert.equal(events.length, 1);
  });

  it('gives ERROR events to the caller and ends with what the caller throws', async () => {
    const status = statusObject(410, 'Expired', 'too old resource version: 5 (428)');
    serve = (response) => response.write(line('ERROR', status));
    const problem = new Error('mine');
    const ended = watch({
      onEvent(event) {
        assert.deepEqual(event, { type: 'ERROR', object: status });
        throw problem;
      },
    });
    await assert.rejects(ended, (error) => error === problem);
  });

  it('fails with what the server answers instead of a stream', async () => {
    serve = (response) => {
      response.writeHead(429, { 'retry-after': '3', 'content-type': 'text/plain' });
      response.end('Too many requests, please try again later.');
    };
    const busy = await failed(watch());
    assert.deepEqual([busy.status, busy.retryAfterMs], [429, 3_000]);
    serve = (response) => answerJson(response, 410, statusObject(410, 'Expired', 'gone'));
    assert.equal((await failed(watch())).status, 410);
    assert.equal(records.at(-1)?.code, '410');
  });

  it('stops when the caller aborts, and drops the connection', async () => {
    let closed: Promise<void> | undefined;
    serve = (response) => {
      closed = new Promise((resolve) => response.on('close', () => resolve()));
      response.write(line('ADDED', node('a')));
    };
    const stop = new AbortController();
    const pending = failed(
      watch({
        signal: stop.signal,
        onEvent: () => stop.abort(new Error('enough')),
      }),
    );
    assert.equal((await pending).reason, 'Aborted');
    await closed;
    assert.equal((await failed(watch({ signal: stop.signal }))).reason, 'Aborted');
  });

  it('uses a connection of its own, which the next watch reuses after a clean end', async () => {
    const own = await startTestServer((request, response) => {
      if (request.query.get('watch')) setTimeout(() => response.end(line('BOOKMARK', node('x'))), 5);
      else answerJson(response, 200, {});
    });
    const config = fixedConnection({ server: own.url, tls: { ca: own.caPem } });
    const { api, close } = createKubeClient({ config, clock: systemClock(), log: silentLog });
    const call = { path: '/api/v1/nodes', query: {}, signal: new AbortController().signal, onEvent() {} };
    const watching = api.watch(call);
    await own.seen(1);
    await api.call({ verb: 'get', path: '/api/v1/nodes/a' });
    await watching;
    await new Promise((resolve) => setImmediate(resolve));
    await api.watch(call);
    assert.deepEqual(
      own.requests.map((request) => request.connection),
      [1, 2, 1],
    );
    close();
    await own.close();
  });

  it('gives up a watch without a first byte after 30 s', async () => {
    const clock = fakeClock();
    const config = fixedConnection({ server: server.url, tls: { ca: server.caPem } });
    const { api, close } = createKubeClient({ config, clock, log: silentLog });
    serve = () => {};
    const before = server.requests.length;
    const call = { path: '/api/v1/nodes', query: {}, signal: new AbortController().signal, onEvent() {} };
    const pending = failed(api.watch(call));
    await server.seen(before + 1);
    await clock.advance(30_000);
    assert.equal((await pending).reason, 'Timeout');
    close();
  });
});
