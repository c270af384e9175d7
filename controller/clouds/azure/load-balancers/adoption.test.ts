import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  annotated,
  internal,
  internalFields,
  type Json,
  network,
  withWorld,
} from '../../../../test/clouds/azure/scene.ts';
import { port } from '../../../../test/clouds/suite/desired.ts';
import type { AdoptionProof } from '../../load-balancers.ts';
import { baseName } from './names.ts';

describe('load balancers of the classic controller', () => {
  const proof = (...addresses: readonly string[]): AdoptionProof => ({ addresses, clusterName: 'kubernetes' });
  const untagged = (resource: { body: Json; version: number } | undefined) => {
    const { tags, ...body } = resource!.body;
    const left = Object.entries((tags ?? {}) as Json).filter(([name]) => !name.startsWith('mooring.dev'));
    Object.assign(resource!, { body: { ...body, tags: Object.fromEntries(left) }, version: resource!.version + 1 });
  };

  it('takes over a public address in the resource group of the nodes, and keeps it there', () =>
    withWorld(
      async ({ world, service, ensure, network: cloud, resource }) => {
        world.fake.groups.add('lbs');
        const desired = service();
        const { observed } = await ensure(desired);
        const name = `kubernetes-${baseName(desired.owner.service)}`;
        const balancer = cloud.resources.get(
          `${network}/loadBalancers/kubernetes`.replace('/rg/', '/lbs/').toLowerCase(),
        );
        for (const one of [balancer, resource('publicIPAddresses', name)]) untagged(one);
        const changed = { ...desired, ports: [port(81, 30081)] };
        const after = await ensure(changed, proof(observed!.ingress[0]!.ip!));
        assert.deepEqual([after.refusals, after.observed?.ingress], [[], observed!.ingress]);
        const ids = [...cloud.resources.values()].flatMap(({ type, id }) => (type === 'publicIPAddresses' ? [id] : []));
        assert.deepEqual(ids, [`${network}/publicIPAddresses/${name}`]);
      },
      { json: { loadBalancerResourceGroup: 'lbs' } },
    ));

  it('get source ranges where nothing of the load balancer itself has to change', () =>
    withWorld(async ({ service, ensure, resource, rules }) => {
      const desired = service(internalFields);
      const { observed } = await ensure(desired);
      untagged(resource('loadBalancers', 'kubernetes-internal'));
      await ensure({ ...desired, sourceRanges: ['192.0.2.0/24'] }, proof(observed!.ingress[0]!.ip!));
      assert.equal(rules().length, 1);
    }));

  it('keeps the rules of an internal load balancer that is open to everybody, without a call', () =>
    withWorld(async ({ service, ensure, resource, rules }) => {
      // The classic controller's rules for the annotation are those for the field.
      const annotations = annotated({ ...internal, 'allowed-ip-ranges': '0.0.0.0/0' });
      const desired = service({ annotations });
      const { observed } = await ensure(desired);
      untagged(resource('loadBalancers', 'kubernetes-internal'));
      const before = rules();
      assert.equal(before.length, 2);
      const said = { ...desired, ...internalFields, asksForEverybody: true };
      const { calls } = await ensure(said, proof(observed!.ingress[0]!.ip!));
      assert.deepEqual([calls, rules()], [0, before]);
    }));
});
