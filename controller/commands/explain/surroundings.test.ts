import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type KubeApi, type KubeCall, KubeError } from '../../kube/api.ts';
import { readNodeFacts } from './read-node-facts.ts';
import { readServiceFacts } from './read-service-facts.ts';

const where = { nowMs: 0, namespace: 'kube-system', leaseNamespace: 'kube-system', leaseName: 'ccm' };
const object = { metadata: { name: 'a', namespace: 'default', uid: 'u', resourceVersion: '1' }, spec: {}, status: {} };

/** Gives the object that is explained, and refuses everything around it. */
function refusing(status: number): KubeApi {
  return {
    watch: async () => {},
    async call<T>({ path }: KubeCall): Promise<T> {
      if (/\/(nodes|services)\/a$/.test(path)) return object as T;
      throw new KubeError({ status, reason: 'x', message: `GET ${path}: ${status}` });
    },
  };
}

describe('what is so around an object that is explained', () => {
  it('is told as hidden where it may not be read', async () => {
    const node = await readNodeFacts(refusing(403), 'a', where);
    assert.deepEqual([...node.hidden].sort(), ['events', 'leader', 'node lease', 'pause']);
    const subject = { namespace: 'default', name: 'a' };
    const service = await readServiceFacts(refusing(403), subject, { ...where, loadBalancerClasses: [] });
    assert.deepEqual([...service.hidden].sort(), ['events', 'leader', 'pause']);
  });

  it('hides nothing where it is not there', async () => {
    const { hidden, leader, nodeRenewTime } = await readNodeFacts(refusing(404), 'a', where);
    assert.deepEqual([hidden, leader, nodeRenewTime], [[], undefined, '']);
  });

  it('is no explanation where it cannot be asked for', async () => {
    await assert.rejects(readNodeFacts(refusing(500), 'a', where), /500/);
  });
});
