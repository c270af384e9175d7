import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { annotations, conditions } from '../../common/well-known.ts';
import { deletions, fleet } from './harness/fleet.ts';
import { providerID, type Replica, reportedOf, type World, type WorldOptions } from './harness/world.ts';
import { worldStage } from './harness/world-stage.ts';

const minutes = (count: number) => count * 60_000;
/** As version 3177c21 recorded a scope whose account it did not know. */
const former = 'http://cloud/sim-1';

describe('the recorded scope of a Node', () => {
  const begin = worldStage();
  let world: World;
  let replica: Replica;

  async function setUp(options: WorldOptions = {}): Promise<void> {
    ({ world, replica } = begin(options));
    await replica.start();
  }
  const recordOf = (name: string) => world.cluster.mustNode(name).metadata.annotations?.[annotations.instance];
  const record = (name: string, value: string) =>
    world.cluster.mergePatch(name, { metadata: { annotations: { [annotations.instance]: value } } });
  const reason = (name: string, type: string = conditions.cloudInitialized) =>
    world.cluster.condition(name, type)?.reason;
  const upgraded = { clouds: [{ formerScopes: [former] }] };

  it('gets the account after an upgrade, as soon as the instance is found', async () => {
    await setUp(upgraded);
    const members = await fleet(world, 2);
    for (const { name, vm } of members) record(name, `${former} ${vm.incarnation}`);
    await world.clock.advance(minutes(6));
    for (const { name, vm } of members) assert.equal(recordOf(name), `${world.scope} ${vm.incarnation}`);
  });

  it('still proves a deletion after an upgrade while another instance is found', async () => {
    await setUp(upgraded);
    const members = await fleet(world, 3);
    await replica.stopLeading();
    for (const { name, vm } of members) record(name, `${former} ${vm.incarnation}`);
    members[0]!.kubelet.die();
    world.cloud.model.forget(members[0]!.vm.id);
    await world.clock.advance(minutes(2));
    await world.replica().start();
    await world.clock.advance(minutes(10));
    assert.equal(world.cluster.node('n0'), undefined);
    assert.notEqual(world.cluster.node('n1'), undefined);
  });

  it('proves nothing in its older form where no other instance shows that the account is the same', async () => {
    await setUp(upgraded);
    const members = await fleet(world, 2);
    await replica.stopLeading();
    for (const { name, vm, kubelet } of members) {
      record(name, `${former} ${vm.incarnation}`);
      kubelet.die();
      world.cloud.model.forget(vm.id);
    }
    await world.clock.advance(minutes(2));
    const next = world.replica();
    await next.start();
    await world.clock.advance(minutes(60));
    assert.deepEqual(deletions(next), []);
  });

  it('leaves a Node whose recorded scope is of another account, and calls it an IdentityConflict', async () => {
    await setUp();
    const [member] = await fleet(world, 2);
    const foreign = `http://cloud/other/sim-1 ${member!.vm.incarnation}`;
    record('n0', foreign);
    await world.clock.advance(minutes(6));
    assert.equal(reason('n0'), 'IdentityConflict');
    assert.match(
      world.cluster.condition('n0', conditions.cloudInitialized)?.message ?? '',
      /http:\/\/cloud\/other\/sim-1/,
    );
    assert.equal(recordOf('n0'), foreign);
    member!.kubelet.die();
    world.cloud.model.terminate(member!.vm.id);
    await world.clock.advance(minutes(30));
    assert.equal(reason('n0', conditions.instanceMissing), 'NeverFound');
    world.cloud.model.forget(member!.vm.id);
    await world.clock.advance(minutes(60));
    assert.notEqual(world.cluster.node('n0'), undefined);
  });

  it('keeps the recorded scope of a Node against reports while the cloud does not tell its account', async () => {
    await setUp({ clouds: [{ unidentified: 'STS: no answer' }] });
    const vm = world.cloud.model.create({ name: 'a' });
    world.cluster.register('a', { tainted: false, providerID: providerID(vm), systemUuid: vm.smbiosUuid ?? '' });
    record('a', `${world.scope} ${vm.incarnation}`);
    const other = world.cloud.model.create({ name: 'b' });
    world.cluster.register('b', { systemUuid: other.smbiosUuid ?? '' });
    await world.clock.advance(minutes(1));
    assert.equal(reason('b'), 'AwaitingReport');
    assert.match(world.cluster.condition('b', conditions.cloudInitialized)?.message ?? '', /STS: no answer/);
    replica.kube.forgetCalls();
    replica.report('a', { instance: { ...reportedOf(vm), type: 'other' } });
    await world.clock.advance(minutes(6));
    assert.equal(recordOf('a'), `${world.scope} ${vm.incarnation}`);
    assert.deepEqual(
      replica.kube.writes().filter((write) => write.includes('/nodes/a')),
      [],
    );
  });
});
