import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type KubeApi, type KubeCall, KubeError } from '../../kube/api.ts';
import { readNodeFacts } from './read-node-facts.ts';
import { readServiceFacts } from './read-service-facts.ts';

const where = { nowMs: 0, namespace: 'kube-system', leaseNamespace: 'kube-system', leaseName: 'ccm' };
const object = { metadata: { name: 'a', namespace: 'default', uid: 'u', resourceVersion: '1' }, spec: {}, status: {} };

/** Returns the explained object, and refuses all others. */
function refusing(status: number): KubeApi {
  return {
    watch: async () => {},
    async call<T>({ path }: KubeCall): Promise<T> {
      if (/\/(nodes|services)\/a$/.test(path)) return object as T;
      throw new KubeError({ status, reason: 'x', message: `GET ${path}: ${status}` });
    },
  };
}

describe('the facts around an explained object', () => {
  it('marks facts as hidden where they may not be read', async () => {
    const node = await readNodeFacts(refusing(403), 'a', where);
    assert.deepEqual([...node.hidden].sort(), ['events', 'leader', 'node lease', 'pause']);
    const subject = { namespace: 'default', name: 'a' };
    const service = await readServiceFacts(refusing(403), subject, { ...where, loadBalancerClasses: [] });
    assert.deepEqual([...service.hidden].sort(), ['events', 'leader', 'pause']);
  });

  it('marks facts as missing, not as hidden, where they do not exist', async () => {
    const { hidden, leader, nodeRenewTime } = await readNodeFacts(refusing(404), 'a', where);
    assert.deepEqual([hidden, leader, nodeRenewTime], [[], undefined, '']);
  });

  it('leaves out the events of a former object of that name, and keeps those of kubelets', async () => {
    const uids = ['u', 'former', 'a', undefined];
    const items = uids.map((uid) => ({ involvedObject: { uid }, reason: String(uid), lastTimestamp: '2026-05-01' }));
    const api: KubeApi = {
      watch: async () => {},
      call: async <T>({ path }: KubeCall) => (path.endsWith('/events') ? { items } : object) as T,
    };
    const subject = { namespace: 'default', name: 'a' };
    for (const { events } of [
      await readNodeFacts(api, 'a', where),
      await readServiceFacts(api, subject, { ...where, loadBalancerClasses: [] }),
    ])
      assert.deepEqual(
        events.map(({ reason }) => reason),
        ['u', 'a', 'undefined'],
      );
  });

  it('fails the explanation where the API server does not answer', async () => {
    await assert.rejects(readNodeFacts(refusing(500), 'a', where), /500/);
  });
});
