import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type InstanceRef, type Lookup, maxAbsenceProofs, refKey } from '../../../controller/clouds/cloud.ts';
import type { SuiteContext } from './suite-context.ts';
import type { CloudVm, CloudWorld } from './world.ts';

const byId = ({ providerID }: Pick<CloudVm, 'providerID'>): InstanceRef => ({ by: 'providerID', providerID });
const byName = (name: string): InstanceRef => ({ by: 'name', name });

function shortOf(lookup: Lookup | undefined): string {
  if (lookup?.state === 'unknown') return `unknown ${lookup.error.kind}`;
  return lookup?.state ?? 'no answer';
}

async function lookup(world: CloudWorld, refs: readonly InstanceRef[], canaries: readonly InstanceRef[] = []) {
  const { instances } = await world.open();
  return world.during(instances.lookup(refs, { canaries }));
}

async function states(world: CloudWorld, refs: readonly InstanceRef[], canaries: readonly InstanceRef[] = []) {
  const answers = await lookup(world, refs, canaries);
  return refs.map((ref) => shortOf(answers.get(refKey(ref))));
}

/** Facts about lookups. */
export function instanceFacts({ world, capabilities }: SuiteContext): void {
  describe('instances', () => {
    it('shows a VM by its providerID, with the facts of its Node', async () => {
      const vm = await world().createVm();
      const answer = (await lookup(world(), [byId(vm)])).get(vm.providerID);
      assert.ok(answer?.state === 'found', shortOf(answer));
      assert.equal(answer.power, 'running');
      assert.equal(answer.instance.providerID, vm.providerID);
      assert.equal(answer.instance.zone ?? '', vm.zone);
      assert.ok(answer.instance.incarnation, 'an incarnation tells a rebuilt VM from the old one');
      const shown = answer.instance.addresses.map(({ address }) => address);
      for (const address of vm.addresses) assert.ok(shown.includes(address), `${address} is not among ${shown}`);
    });

    it('shows a VM by the name of its Node, and a name without a VM as unknown, never absent', async () => {
      const vm = await world().createVm();
      assert.deepEqual(await states(world(), [byName(vm.name), byName('no-such-vm')]), ['found', 'unknown NotFound']);
    });

    it('proves an unknown id absent, with a canary from the same kind of request', async () => {
      const vm = await world().createVm();
      const never = byId({ providerID: world().unusedProviderID() });
      const answers = await lookup(world(), [never], [byId(vm)]);
      assert.equal(shortOf(answers.get(refKey(never))), 'absent');
      const canary = answers.get(vm.providerID);
      assert.ok(canary?.state === 'found' && canary.request === 'id', shortOf(canary));
    });

    it('shows a deleted VM as gone or absent, and finds the others', async () => {
      const [kept, deleted] = [await world().createVm(), await world().createVm()];
      await world().deleteVm(deleted.providerID);
      assert.deepEqual(await states(world(), [byId(kept), byId(deleted)], [byId(kept)]), [
        'found',
        capabilities.deletedVm,
      ]);
    });

    it('shows a stopped VM as stopped', async (t) => {
      const { stopVm } = world();
      if (!stopVm) return t.skip('nothing here stops a VM');
      const vm = await world().createVm();
      await stopVm(vm.providerID);
      const answer = (await lookup(world(), [byId(vm)])).get(vm.providerID);
      assert.ok(answer?.state === 'found' && answer.power === 'stopped', shortOf(answer));
    });

    it('refuses what this scope cannot hold, without harm to the others of the batch', async () => {
      const vms = [await world().createVm(), await world().createVm(), await world().createVm()];
      const other = world().otherScopeProviderID();
      const { accepts } = await world().open();
      assert.equal(accepts(other), false);
      for (const { providerID } of vms) assert.equal(accepts(providerID), true);
      const bad = [other, 'not a providerID', 'othercloud:///vm-1'].map((providerID) => byId({ providerID }));
      assert.deepEqual(await states(world(), [...bad, ...vms.map(byId)]), [
        ...Array(3).fill('unknown Invalid'),
        ...Array(3).fill('found'),
      ]);
    });

    it('answers every ref of a batch once, and the same by list as by id', async () => {
      const vms = await Promise.all([1, 2, 3, 4].map(() => world().createVm()));
      const refs = [...vms, ...vms].map(byId);
      const batch = await lookup(world(), refs);
      assert.equal(batch.size, vms.length);
      for (const vm of vms) {
        const one = (await lookup(world(), [byId(vm)])).get(vm.providerID);
        const inBatch = batch.get(vm.providerID);
        assert.ok(one?.state === 'found' && inBatch?.state === 'found', `${shortOf(one)}, ${shortOf(inBatch)}`);
        assert.deepEqual(inBatch.instance, one.instance);
        assert.equal(inBatch.power, one.power);
      }
    });

    it('proves at most twenty absences in one pass, and leaves the rest unknown', async () => {
      const { loadBalancers: _, instances } = await world().open();
      if (instances.batchSize < maxAbsenceProofs + 5) return;
      const vm = await world().createVm();
      const never = Array.from({ length: maxAbsenceProofs + 5 }, () =>
        byId({ providerID: world().unusedProviderID() }),
      );
      const seen = await states(world(), [byId(vm), ...never]);
      assert.equal(seen[0], 'found');
      assert.equal(seen.filter((state) => state === 'absent').length, maxAbsenceProofs);
      assert.equal(seen.filter((state) => state === 'unknown NotFound').length, 5);
    });

    it('answers unknown, and never absent, while the credential is refused', async (t) => {
      const { refuseCredential } = world();
      if (!refuseCredential) return t.skip('the credential cannot be refused here');
      const vm = await world().createVm();
      refuseCredential(true);
      try {
        const refs = [byId(vm), byId({ providerID: world().unusedProviderID() })];
        for (const state of await states(world(), refs, [byId(vm)])) assert.match(state, /^unknown (Unauth|Forb)/);
      } finally {
        refuseCredential(false);
      }
    });

    it('changes nothing by a lookup of instances', async () => {
      const vm = await world().createVm();
      const before = world().mutations();
      await states(world(), [byId(vm), byName(vm.name), byId({ providerID: world().unusedProviderID() })]);
      assert.equal(world().mutations(), before);
    });
  });
}
