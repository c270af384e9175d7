import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { describe, it } from 'node:test';
import { systemClock } from '../../common/process/clock.ts';
import { silentLog } from '../../common/process/log.ts';
import { nodeFields } from '../model/node-fields.ts';
import { unreadOfNode, viewNode } from '../model/node-view.ts';
import type { WatchEvent } from './api.ts';
import { createListWatch } from './list-watch.ts';
import { listOf, protobufType } from './protobuf-objects.ts';
import { clientHarness, failure } from './testing/client-harness.ts';
import { writeFrame, writeObject } from './testing/protobuf-writer.ts';
import { answerJson } from './testing/test-server.ts';

const statusFields = { 3: ['message', 'string'], 4: ['reason', 'string'], 6: ['code', 'int'] } as const;
const expired = { kind: 'Status', message: 'too old', reason: 'Expired', code: 410 };

function node(name: string, resourceVersion: string) {
  const metadata = { name, uid: `uid-${name}`, resourceVersion };
  return { kind: 'Node', metadata, spec: { providerID: `simulated:///${name}` }, status: {} };
}

function answer(response: ServerResponse, status: number, body: Buffer): void {
  response.writeHead(status, { 'content-type': protobufType });
  response.end(body);
}

describe('a client that names the fields it reads', () => {
  const harness = clientHarness();
  const path = '/api/v1/nodes';

  it('accepts protobuf before JSON, and reads a list of it', async () => {
    const list = { kind: 'NodeList', metadata: { resourceVersion: '7', continue: 'more' }, items: [node('a', '5')] };
    harness.handle = (_, response) => answer(response, 200, writeObject(list, listOf(nodeFields)));
    const read = await harness.client().call<typeof list>({ verb: 'list', path, fields: nodeFields });
    assert.equal(
      harness.server.requests.at(-1)?.headers.accept,
      'application/vnd.kubernetes.protobuf,application/json',
    );
    assert.deepEqual(read.metadata, list.metadata);
    assert.equal(viewNode(read.items[0]).providerID, 'simulated:///a');
  });

  it('reads JSON from a server that has no protobuf', async () => {
    harness.handle = (_, response) => answerJson(response, 200, node('a', '5'));
    const read = await harness.client().call({ verb: 'get', path: `${path}/a`, fields: nodeFields });
    assert.equal(viewNode(read).providerID, 'simulated:///a');
  });

  it('accepts JSON alone where it names no fields', async () => {
    const { headers } = await harness.lastRequest((api) => api.call({ verb: 'get', path: `${path}/a` }));
    assert.equal(headers.accept, 'application/json');
  });

  it('says why a call failed whose Status came in protobuf', async () => {
    harness.handle = (_, response) => answer(response, 410, writeObject(expired, statusFields));
    const error = await failure(harness.client().call({ verb: 'list', path, fields: nodeFields }));
    assert.deepEqual([error.status, error.reason], [410, 'Expired']);
    assert.match(error.message, /too old/);
  });

  it('fails with a body that is no protobuf', async () => {
    harness.handle = (_, response) => answer(response, 200, Buffer.from('k8s\0\x12\x40'));
    const error = await failure(harness.client().call({ verb: 'list', path, fields: nodeFields }));
    assert.deepEqual([error.status, error.reason], [0, 'Unreadable']);
    assert.match(error.message, /6 bytes that is no protobuf/);
  });

  it('reads the frames of a watch, and throws the error of an event', async () => {
    harness.handle = (_, response) => {
      response.writeHead(200, { 'content-type': `${protobufType};stream=watch` });
      response.write(writeFrame('ADDED', writeObject(node('a', '5'), nodeFields)));
      response.end(
        writeFrame('BOOKMARK', writeObject({ kind: 'Node', metadata: { resourceVersion: '9' } }, nodeFields)),
      );
    };
    const events: WatchEvent[] = [];
    const signal = new AbortController().signal;
    await harness
      .client()
      .watch({ path, query: {}, fields: nodeFields, signal, onEvent: (event) => void events.push(event) });
    assert.deepEqual(
      events.map(({ type }) => type),
      ['ADDED', 'BOOKMARK'],
    );
    assert.equal(viewNode(events[0]?.object).name, 'a');
  });

  it('refuses a watch that was cut within a frame', async () => {
    harness.handle = (_, response) => {
      response.writeHead(200, { 'content-type': `${protobufType};stream=watch` });
      response.end(writeFrame('ADDED', writeObject(node('a', '5'), nodeFields)).subarray(0, 9));
    };
    const signal = new AbortController().signal;
    const watch = harness.client().watch({ path, query: {}, fields: nodeFields, signal, onEvent: () => {} });
    assert.match((await failure(watch)).message, /cut within a frame/);
  });

  it('lists again after an ERROR event in protobuf that says the history is lost', async () => {
    let lists = 0;
    harness.handle = ({ query }, response) => {
      if (query.get('watch') === '1') {
        response.writeHead(200, { 'content-type': `${protobufType};stream=watch` });
        if (lists === 1) response.end(writeFrame('ERROR', writeObject(expired, statusFields)));
        return;
      }
      lists += 1;
      const list = { kind: 'NodeList', metadata: { resourceVersion: '7' }, items: [node(`a${lists}`, '5')] };
      answer(response, 200, writeObject(list, listOf(nodeFields)));
    };
    const nodes = createListWatch({
      api: harness.client(),
      path,
      trim: viewNode,
      unread: unreadOfNode,
      fields: nodeFields,
      clock: systemClock(),
      random: () => 0,
      log: silentLog,
    });
    const second = new Promise<void>((resolve) => {
      nodes.subscribe(({ type, key }) => {
        if (type === 'added' && key === 'a2') resolve();
      });
    });
    nodes.start();
    await second;
    await nodes.stop();
    assert.equal(nodes.get('a2')?.uid, 'uid-a2');
  });
});
