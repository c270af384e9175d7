import assert from 'node:assert/strict';
import { names } from '../../common/well-known.ts';
import type { ApiSuite } from '../conformance/api-under-test.ts';
import { makeClient } from '../conformance/client.ts';
import { createKubeRest } from '../kit/world/kube-rest.ts';
import { applyManifests, serviceAccountToken } from '../kit/world/manifests.ts';
import { assertRefused, attempts } from './stolen-account.ts';

/** A stolen token of the controller's ServiceAccount, with the rights that the manifests give it. */
export const rightsSuite: ApiSuite = {
  name: 'rights',
  async run(api, check) {
    const rest = createKubeRest(api);
    const client = makeClient(api.url, api.caPem, api.adminToken);
    try {
      await applyManifests(rest);
      const stolen = await serviceAccountToken(rest, { namespace: names.namespace, name: names.controller });
      for (const attempt of attempts)
        await check(`the controller's account cannot ${attempt.what}`, () => assertRefused(client, stolen, attempt));
      await check("the controller's account deletes a Node only with the rights of the lifecycle loop", async () => {
        const remove = () => client.call('DELETE', '/api/v1/nodes/no-such-node', { token: stolen });
        assert.equal((await remove()).status, 404);
        const bindings = '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings';
        await rest.must('DELETE', `${bindings}/${names.controller}-lifecycle`);
        assert.equal((await remove()).status, 403);
      });
      await check("the agent's account may do nothing of all this, nor read a Node", async () => {
        const agent = await serviceAccountToken(rest, { namespace: names.namespace, name: names.agent });
        for (const attempt of attempts) await assertRefused(client, agent, { ...attempt, refusals: [403] });
        assert.equal((await client.call('GET', '/api/v1/nodes', { token: agent })).status, 403);
      });
    } finally {
      client.close();
      rest.close();
    }
  },
};
