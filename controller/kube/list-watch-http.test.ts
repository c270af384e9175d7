import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { describe, it } from 'node:test';
import { systemClock } from '../../common/process/clock.ts';
import { silentLog } from '../../common/process/log.ts';
import { createKubeClient } from './client.ts';
import { createListWatch } from './list-watch.ts';
import { fixedConnection } from './testing/fixed-connection.ts';
import { answerJson, startTestServer, statusObject } from './testing/test-server.ts';

function node(name: string, version: number, uid = `uid-${name}`): unknown {
  return {
    metadata: { name, uid, resourceVersion: String(version), creationTimestamp: '2026-01-01T00:00:00Z' },
    spec: { providerID: `aws:///eu/${name}` },
  };
}

const eventLine = (type: string, object: unknown) => `${JSON.stringify({ type, object })}\n`;

describe('a list-watch over HTTPS', () => {
  it('lists in pages, watches, resumes after a cut, and lists again after 410', async () => {
    const watches: ((response: ServerResponse) => void)[] = [
      (response) => {
        response.write(eventLine('MODIFIED', node('a', 12)));
        const half = Buffer.from(eventLine('ADDED', node('ü', 13)));
        response.write(half.subarray(0, half.indexOf(0xc3) + 1), () => response.destroy());
      },
      (response) => response.write(eventLine('ADDED', node('ü', 13)), () => response.end()),
      (response) =>
        response.end(eventLine('ERROR', statusObject(410, 'Expired', 'too old resource version: 13 (400)'))),
      (response) => response.write(eventLine('BOOKMARK', { metadata: { resourceVersion: '500' } })),
    ];
    let lists = 0;
    const server = await startTestServer((request, response) => {
      if (request.query.get('watch')) {
        const next = watches.shift();
        response.writeHead(200, { 'content-type': 'application/json' });
        next?.(response);
        return;
      }
      const token = request.query.get('continue');
      if (token === 'page-2')
        return answerJson(response, 200, { metadata: { resourceVersion: '10' }, items: [node('b', 9)] });
      lists += 1;
      if (lists === 1) {
        return answerJson(response, 200, {
          metadata: { resourceVersion: '10', continue: 'page-2' },
          items: [node('a', 8)],
        });
      }
      answerJson(response, 200, {
        metadata: { resourceVersion: '400' },
        items: [node('a', 12), node('b', 300, 'new-uid')],
      });
    });
    const config = fixedConnection({ server: server.url, token: 't', tls: { ca: server.caPem } });
    const clock = systemClock();
    const { api, close } = createKubeClient({ config, clock, log: silentLog });
    const told: string[] = [];
    let followed = () => {};
    const relisted = new Promise<void>((resolve) => {
      followed = resolve;
    });
    const informer = createListWatch({
      api,
      path: '/api/v1/nodes',
      trim: (raw) => structuredClone(raw),
      clock,
      // The smallest delays there are.
      random: () => 0,
      log: silentLog,
      metrics: { listed: (why) => why === 'expired' && followed() },
    });
    informer.subscribe((event) => told.push(`${event.type} ${event.key}`));
    informer.start();
    await relisted;
    assert.deepEqual(told, ['added a', 'added b', 'updated a', 'added ü', 'deleted b', 'added b', 'deleted ü']);
    assert.deepEqual(informer.get('a'), node('a', 12));
    assert.deepEqual(
      server.requests
        .filter((request) => request.query.get('watch'))
        .map((request) => request.query.get('resourceVersion'))
        .slice(0, 3),
      ['10', '12', '13'],
    );
    await informer.stop();
    close();
    await server.close();
  });
});
