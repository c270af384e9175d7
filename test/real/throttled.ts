import assert from 'node:assert/strict';
import type { ApiSuite } from '../conformance/api-under-test.ts';
import { makeClient } from '../conformance/client.ts';
import type { Binaries } from './binaries.ts';
import { startRealApi } from './start-real-api.ts';

/** A server of its own that takes one request at a time, to see how it turns others away. */
export function throttledSuite(binaries: Binaries): ApiSuite {
  return {
    name: 'throttled',
    async run(_shared, check) {
      const limits = [
        '--enable-priority-and-fairness=false',
        '--max-requests-inflight=1',
        '--max-mutating-requests-inflight=1',
      ];
      const api = await startRealApi({ binaries, apiserverArguments: limits });
      const token = api.nodeToken('node-0');
      const client = makeClient(api.url, api.caPem, token);
      try {
        await check('A8 too many requests at once get 429 in plain text, with Retry-After', async () => {
          // Members of system:masters are never turned away, so it is a kubelet that asks.
          const wave = () => Promise.all(Array.from({ length: 200 }, () => client.call('GET', '/api/v1/nodes')));
          let refused: Awaited<ReturnType<typeof client.call>> | undefined;
          // A busy machine may let them come one after the other.
          for (let waves = 0; refused === undefined && waves < 50; waves += 1)
            refused = (await wave()).find((answer) => answer.status === 429);
          assert.ok(refused, 'none of 10,000 requests was refused');
          assert.equal(refused.headers['retry-after'], '1');
          assert.equal(refused.text.trim(), 'Too many requests, please try again later.');
          assert.match(refused.headers['content-type'] ?? '', /^text\/plain/);
        });
      } finally {
        client.close();
        await api.stop();
      }
    },
  };
}
