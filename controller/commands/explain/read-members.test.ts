import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type KubeApi, KubeError } from '../../kube/api.ts';
import { exampleService } from '../../services/testing/example-service.ts';
import { membersReader } from './read-members.ts';

test('the members of a Service are unknown where the list of Nodes fails, which is asked for once', async () => {
  let lists = 0;
  const api: KubeApi = {
    async call() {
      lists += 1;
      throw new KubeError({ status: 503, reason: 'ServiceUnavailable', message: 'GET /api/v1/nodes: overloaded' });
    },
    watch: async () => {},
  };
  const read = membersReader(api, [], new AbortController().signal);
  const service = exampleService({}, () => true);
  const unknown = { unknown: 'the Nodes could not be read: GET /api/v1/nodes: overloaded' };
  assert.deepEqual([await read(service), await read(service), lists], [unknown, unknown, 1]);
});
