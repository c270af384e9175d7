import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { alibabaWorld } from '../../../test/clouds/alibaba/alibaba-world.ts';
import { refKey } from '../cloud.ts';

const refTo = (providerID: string) => ({ by: 'providerID', providerID }) as const;

describe('lookups of ECS instances', () => {
  it('ask for a hundred ids in one call', async () => {
    const world = alibabaWorld();
    const refs = Array.from({ length: 250 }, (_, at) => refTo(`cn-hangzhou.${world.fake.addInstance(`n-${at}`).id}`));
    const { instances } = await world.open();
    const answers = await world.during(instances.lookup(refs));
    assert.ok(refs.every((ref) => answers.get(refKey(ref))?.state === 'found'));
    assert.deepEqual(world.fake.calls, Array(3).fill('DescribeInstances'));
    await world.close();
  });

  it('show zone, region, type, tags and every address that the agent reports, none of other interfaces', async () => {
    const world = alibabaWorld();
    const more = { eip: '8.8.4.4', publicAddress: '', ipv6: ['2408:4005:0000::7'], tags: { 'k8s-label/team': '' } };
    const { id, address } = world.fake.addInstance('worker', more);
    const { instances } = await world.open();
    const found = (await world.during(instances.lookup([refTo(`alicloud://cn-hangzhou.${id}`)]))).values().next().value;
    assert.ok(found?.state === 'found');
    const { zone, region, type, addresses, providerID, tags } = found.instance;
    assert.deepEqual(tags, { 'k8s-label/team': '' });
    assert.deepEqual([zone, region, type], ['cn-hangzhou-h', 'cn-hangzhou', 'ecs.g7.large']);
    assert.equal(providerID, `cn-hangzhou.${id}`);
    assert.deepEqual(
      addresses.map((one) => `${one.type} ${one.address}`),
      [`InternalIP ${address}`, 'ExternalIP 8.8.4.4', 'InternalIP 2408:4005::7', 'Hostname worker'],
    );
    await world.close();
  });

  it('find an instance by a Node name that holds its id, and prove nothing by that', async () => {
    const world = alibabaWorld();
    const { id } = world.fake.addInstance('worker');
    const { instances } = await world.open();
    const named = (name: string) => ({ by: 'name', name }) as const;
    const refs = [named(`cn-hangzhou.${id}`), named('cn-hangzhou.i-bp1never')];
    const answers = await world.during(instances.lookup(refs));
    assert.equal(answers.get(refKey(refs[0]!))?.state, 'found');
    assert.equal(answers.get(refKey(refs[1]!))?.state, 'unknown');
    await world.close();
  });

  it('answers absent where the id does not exist, and unknown where a list alone leaves it out', async () => {
    const world = alibabaWorld();
    const [gone, hidden] = [await world.createVm(), await world.createVm()];
    const { instances } = await world.open();
    await world.deleteVm(gone.providerID);
    world.fake.hidden.add(hidden.providerID.split('.')[1]!);
    const refs = [refTo(gone.providerID), refTo(hidden.providerID)];
    const answers = await world.during(instances.lookup(refs));
    assert.deepEqual(
      refs.map((ref) => answers.get(refKey(ref))?.state),
      ['absent', 'unknown'],
    );
    await world.close();
  });

  it('answers unknown, never absent, while the API throttles or answers without a list', async () => {
    const throttled = { Code: 'Throttling.User', Message: 'Request was denied due to user flow control.' };
    for (const [body, status, kind] of [
      [throttled, 400, 'Throttled'],
      [{ RequestId: 'x' }, 200, 'Invalid'],
      ['<html>', 502, 'Unavailable'],
      [{ Code: 'Forbidden.RAM', Message: 'not authorized' }, 403, 'Forbidden'],
      // Of the credential, not of an instance.
      [{ Code: 'EntityNotExist.Role', Message: 'The role not exists: node.' }, 404, 'Invalid'],
    ] as const) {
      const world = alibabaWorld();
      const vm = await world.createVm();
      const { instances } = await world.open();
      world.fake.fault = () => ({ status, body });
      const answer = (await world.during(instances.lookup([refTo(vm.providerID)]))).get(vm.providerID);
      assert.ok(answer?.state === 'unknown');
      assert.equal(answer.error.kind, kind);
      await world.close();
    }
  });
});
