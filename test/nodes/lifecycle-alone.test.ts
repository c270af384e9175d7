import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { annotations, taints } from '../../common/well-known.ts';
import { providerID } from './harness/world.ts';
import { worldStage } from './harness/world-stage.ts';

describe('the loop cloud-node-lifecycle without cloud-node', () => {
  const begin = worldStage();
  const loops = { node: false, lifecycle: true };

  /** Nodes that another controller has initialised, each with its VM. */
  async function start() {
    const { world, replica } = begin({ task: { loops } });
    const vms = ['a', 'b', 'c'].map((name) => {
      const vm = world.cloud.model.create({ name });
      const addresses = [{ type: 'InternalIP', address: '10.0.0.1' }];
      world.cluster.register(name, { tainted: false, providerID: providerID(vm), addresses });
      return { vm, kubelet: world.cluster.kubelet(name) };
    });
    await replica.start();
    await world.clock.advance(60_000);
    return { world, replica, vms };
  }

  it('records where it found the instances, and writes nothing else', async () => {
    const { world, replica } = await start();
    for (const name of ['a', 'b', 'c'])
      assert.match(
        world.cluster.mustNode(name).metadata.annotations?.[annotations.instance] ?? '',
        /^http:\/\/cloud\//,
      );
    const patched = replica.kube.writes().filter((write) => write.startsWith('patch'));
    assert.deepEqual(
      patched.sort(),
      ['a', 'b', 'c'].map((name) => `patch /api/v1/nodes/${name}`),
    );
    replica.kube.forgetCalls();
    await world.clock.advance(900_000);
    assert.deepEqual(replica.kube.writes(), []);
  });

  it('deletes the Node of a terminated VM', async () => {
    const { world, vms } = await start();
    vms[0]!.kubelet.die();
    world.cloud.model.terminate(vms[0]!.vm.id);
    await world.clock.advance(180_000);
    assert.equal(world.cluster.node('a'), undefined);
    assert.deepEqual(world.cluster.names().sort(), ['b', 'c']);
  });

  it('taints the Node of a VM that is off', async () => {
    const { world, vms } = await start();
    vms[0]!.kubelet.die();
    world.cloud.model.stop(vms[0]!.vm.id);
    await world.clock.advance(180_000);
    assert.ok(world.cluster.hasTaint('a', taints.shutdown));
  });

  it('records no VM without proof under --require-attestation', async () => {
    const { world, replica } = begin({ task: { loops }, clouds: [{ requireAttestation: true }] });
    const vm = world.cloud.model.create({ name: 'a' });
    world.cluster.register('a', { tainted: false, providerID: providerID(vm) });
    world.cluster.kubelet('a');
    await replica.start();
    await world.clock.advance(300_000);
    assert.deepEqual(replica.kube.writes(), []);
    replica.attest('a', vm);
    await world.clock.advance(90_000);
    assert.match(world.cluster.mustNode('a').metadata.annotations?.[annotations.instance] ?? '', /^http:/);
  });

  it('leaves Nodes alone that wait for initialisation, that are paused, or whose instance contradicts', async () => {
    const { world, replica } = begin({ task: { loops } });
    for (const [name, node] of [
      ['waiting', { tainted: true }],
      ['paused', { tainted: false, annotations: { [annotations.paused]: 'true' } }],
      ['other', { tainted: false, systemUuid: '11111111-1111-1111-1111-111111111111' }],
    ] as const) {
      const vm = world.cloud.model.create({ name, smbiosUuid: '22222222-2222-2222-2222-222222222222' });
      world.cluster.register(name, { ...node, providerID: providerID(vm) });
    }
    await replica.start();
    await world.clock.advance(60_000);
    assert.deepEqual(replica.kube.writes(), []);
  });
});
