import assert from 'node:assert/strict';
import { beforeEach, describe, it } from 'node:test';
import { annotations, conditions, taints } from '../../common/well-known.ts';
import { fleet } from './harness/fleet.ts';
import { providerID, type Replica, reportedOf, type World, type WorldOptions } from './harness/world.ts';
import { worldStage } from './harness/world-stage.ts';

describe('a Node whose identity is contradicted', () => {
  const begin = worldStage();
  let world: World;
  let replica: Replica;

  async function setUp(options: WorldOptions = {}): Promise<void> {
    ({ world, replica } = begin(options));
    await replica.start();
  }
  beforeEach(() => setUp());

  const tainted = (name: string) => world.cluster.hasTaint(name, taints.uninitialized);
  const shown = (name: string) => world.cluster.condition(name, conditions.cloudInitialized);

  async function conflicts(name: string, why: RegExp): Promise<void> {
    await world.clock.advance(90_000);
    assert.equal(tainted(name), true);
    assert.equal(shown(name)?.reason, 'IdentityConflict');
    assert.match(shown(name)?.message ?? '', why);
    assert.equal(world.cluster.mustNode(name).metadata.annotations?.[annotations.instance], undefined);
    assert.deepEqual(
      replica.kube.writes().filter((write) => write === `patch /api/v1/nodes/${name}`),
      [],
      'nothing but the condition was written',
    );
  }

  it('waits when the instance has another SMBIOS UUID than the kubelet', async () => {
    world.cloud.model.create({ name: 'a', smbiosUuid: '11111111-2222-3333-4444-555555555555' });
    world.cluster.register('a', { systemUuid: '99999999-2222-3333-4444-555555555555' });
    await conflicts('a', /SMBIOS/);
  });

  it('accepts an SMBIOS UUID whose first groups have the other byte order', async () => {
    world.cloud.model.create({ name: 'a', smbiosUuid: '11223344-5566-7788-99aa-bbccddeeff00' });
    world.cluster.register('a', { systemUuid: '44332211-6655-8877-99AA-BBCCDDEEFF00' });
    await world.clock.advance(1000);
    assert.equal(tainted('a'), false);
  });

  it('waits when its agent runs on another machine than its kubelet', async () => {
    const vm = world.join('a');
    replica.report('a', { instance: reportedOf(vm), smbiosUuid: 'aaaaaaaa-2222-3333-4444-555555555555' });
    await conflicts('a', /agent's machine/);
  });

  it('waits when its providerID and its agent name two instances', async () => {
    const vm = world.cloud.model.create({ name: 'a' });
    const other = world.cloud.model.create({ name: 'b' });
    world.cluster.register('a', { providerID: providerID(vm), systemUuid: vm.smbiosUuid ?? '' });
    replica.report('a', { instance: reportedOf(other) });
    await conflicts('a', /agent reports instance/);
  });

  it('waits when its agent reports another incarnation than the API', async () => {
    const vm = world.join('a');
    replica.report('a', { instance: { ...reportedOf(vm), incarnation: 'before' } });
    await conflicts('a', /incarnation/);
  });

  it('waits when a report-only providerID and the report differ', async () => {
    await setUp({ clouds: [{ reportOnly: 'simulated' }] });
    const vm = world.cloud.model.create({ name: 'a' });
    const other = world.cloud.model.create({ name: 'b' });
    world.cluster.register('a', { providerID: providerID(vm) });
    replica.report('a', { instance: reportedOf(other) });
    await conflicts('a', /providerID/);
  });

  it('initialises the Node when the contradiction ends', async () => {
    const vm = world.join('a');
    replica.report('a', { instance: { ...reportedOf(vm), incarnation: 'before' } });
    await world.clock.advance(5000);
    assert.equal(tainted('a'), true);
    replica.report('a', { instance: reportedOf(vm) });
    await world.clock.advance(1000);
    assert.equal(tainted('a'), false);
  });

  it('reports a VM that was rebuilt under the same id and writes the Node no more', async () => {
    const [member] = await fleet(world, 1);
    const record = world.cluster.mustNode('n0').metadata.annotations?.[annotations.instance];
    world.cloud.model.rebuild(member!.vm.id);
    replica.kube.forgetCalls();
    await world.clock.advance(400_000);
    assert.equal(shown('n0')?.reason, 'IdentityConflict');
    assert.match(shown('n0')?.message ?? '', /rebuilt|SMBIOS/);
    assert.equal(world.cluster.mustNode('n0').metadata.annotations?.[annotations.instance], record);
    assert.ok(replica.kube.writes().length <= 2, replica.kube.writes().join(', '));
  });

  it('takes a VM that was rebuilt under the same id once the agent of its Node reports it', async () => {
    const [member] = await fleet(world, 1);
    const { id } = world.cloud.model.rebuild(member!.vm.id);
    const vm = world.cloud.model.setAddresses(id, { interfaces: [{ internal: ['10.9.9.9'] }] });
    world.cluster.setSystemUuid('n0', vm.smbiosUuid ?? '');
    await world.clock.advance(400_000);
    assert.match(shown('n0')?.message ?? '', /rebuilt.*no report/);
    replica.report('n0', { instance: reportedOf(vm) });
    await world.clock.advance(120_000);
    assert.equal(shown('n0')?.reason, 'Initialized');
    const { metadata, status } = world.cluster.mustNode('n0');
    assert.equal(metadata.annotations?.[annotations.instance], `${world.scope} ${vm.incarnation}`);
    const internal = status.addresses?.filter(({ type }) => type === 'InternalIP');
    assert.deepEqual(internal, [{ type: 'InternalIP', address: '10.9.9.9' }]);
  });

  it('takes no rebuilt VM by a report alone where evidence is required', async () => {
    await setUp({ clouds: [{ requireAttestation: true }] });
    const before = world.join('a');
    replica.attest('a', before);
    await world.clock.advance(1000);
    assert.equal(tainted('a'), false);
    await replica.stop();
    const vm = world.cloud.model.rebuild(before.id);
    world.cluster.setSystemUuid('a', vm.smbiosUuid ?? '');
    replica = world.replica();
    await replica.start();
    replica.report('a', { instance: reportedOf(vm) });
    await world.clock.advance(400_000);
    assert.match(shown('a')?.message ?? '', /rebuilt/);
    replica.attest('a', vm);
    await world.clock.advance(120_000);
    assert.equal(shown('a')?.reason, 'Initialized');
  });

  for (const end of ['terminate', 'forget'] as const) {
    it(`tells what to do when a new VM has its name and the old one is gone (${end})`, async () => {
      const members = await fleet(world, 2);
      const { message: before } = world.cluster.condition('n0', conditions.instanceMissing) ?? {};
      assert.equal(before, undefined);
      const next = world.cloud.model.create({ name: 'n0-again' });
      world.cloud.model[end](members[0]!.vm.id);
      for (let minute = 0; minute < 12; minute += 1) {
        replica.report('n0', { instance: reportedOf(next) });
        await world.clock.advance(60_000);
      }
      const missing = world.cluster.condition('n0', conditions.instanceMissing);
      assert.deepEqual([missing?.status, missing?.reason], ['True', 'InstanceReplaced']);
      assert.match(missing?.message ?? '', new RegExp(`the agent reports ${providerID(next)}.*kubectl delete node n0`));
      const told = replica.events.filter(({ node, reason }) => node === 'n0' && reason === 'DeletionWithheld');
      assert.deepEqual(
        [told.length, /InstanceReplaced: .*restart its kubelet/.test(told[0]?.message ?? '')],
        [1, true],
      );
      assert.notEqual(world.cluster.node('n0'), undefined);
    });
  }

  describe('with another Node that claims the same instance', () => {
    it('writes exactly one of two Nodes that join at once, both NotReady', async () => {
      const vm = world.cloud.model.create({ name: 'vm' });
      for (const name of ['a', 'b']) world.cluster.register(name, { providerID: providerID(vm), ready: 'False' });
      await world.clock.advance(60_000);
      assert.deepEqual([tainted('a'), tainted('b')], [false, true]);
      assert.equal(shown('b')?.reason, 'IdentityConflict');
      assert.match(shown('b')?.message ?? '', /held by live Node a/);
      for (const name of ['a', 'b']) world.cluster.heartbeat(name);
      await world.clock.advance(60_000);
      assert.equal(tainted('b'), true);
    });

    it('lets a second claimant wait while the holder lives, though NotReady, and then take over', async () => {
      const [holder] = await fleet(world, 1);
      world.cluster.setReady('n0', 'False');
      world.cluster.register('thief', { providerID: providerID(holder!.vm) });
      await world.clock.advance(120_000);
      assert.equal(tainted('thief'), true);
      assert.equal(shown('thief')?.reason, 'IdentityConflict');
      world.cluster.setReady('n0', 'Unknown');
      await world.clock.advance(75_000);
      assert.equal(tainted('thief'), false);
    });

    it('keeps the holder after a change of leader', async () => {
      const [holder] = await fleet(world, 1);
      await replica.stop();
      replica = world.replica();
      world.cluster.register('thief', { providerID: providerID(holder!.vm) });
      await replica.start();
      await world.clock.advance(120_000);
      assert.equal(tainted('thief'), true);
    });

    it('lets the instance’s own Node in despite a contradicted claim', async () => {
      const vm = world.cloud.model.create({ name: 'own' });
      world.cluster.register('forger', { systemUuid: 'ffffffff-2222-3333-4444-555555555555' });
      replica.report('forger', { instance: reportedOf(vm) });
      await world.clock.advance(5000);
      assert.equal(shown('forger')?.reason, 'IdentityConflict');
      world.cluster.register('own', { systemUuid: vm.smbiosUuid ?? '' });
      await world.clock.advance(1000);
      assert.equal(tainted('own'), false);
      assert.equal(tainted('forger'), true);
    });

    it('keeps the first of two initialised Nodes of one VM current and reports the second', async () => {
      const [holder] = await fleet(world, 1);
      world.cluster.register('twin', { tainted: false, providerID: providerID(holder!.vm), ready: 'True' });
      await world.clock.advance(400_000);
      assert.equal(shown('twin')?.reason, 'IdentityConflict');
      assert.equal(shown('n0')?.reason, 'Initialized');
      assert.equal(world.cluster.mustNode('twin').status.addresses, undefined);
    });
  });

  describe('with a forged report, which can change only its sender’s Node', () => {
    it('writes, taints and deletes no Node for a forged report but that of its sender', async () => {
      const members = await fleet(world, 4);
      const before = members.slice(1).map(({ name }) => world.cluster.mustNode(name));
      const victim = members[1]!;
      replica.kube.forgetCalls();
      for (let round = 0; round < 20; round += 1) {
        replica.report('n0', {
          instance: {
            ...reportedOf(victim.vm),
            addresses: [{ type: 'InternalIP', address: '203.0.113.9' }],
            labels: { 'example.com/x': String(round) },
          },
          notices: [{ kind: 'termination' }],
          leaving: round % 2 === 0,
        });
        await world.clock.advance(20_000);
      }
      const touched = replica.kube.calls.filter(({ verb }) => verb !== 'get').map(({ path }) => path);
      assert.deepEqual(
        touched.filter((path) => !path.startsWith('/api/v1/nodes/n0')),
        [],
      );
      members.slice(1).forEach(({ name }, index) => {
        assert.equal(world.cluster.mustNode(name).metadata.resourceVersion, before[index]?.metadata.resourceVersion);
      });
      assert.equal(replica.kube.calls.filter(({ verb }) => verb === 'delete').length, 0);
    });

    it('ignores a report that was kept for an earlier Node of that name', async () => {
      await setUp({ clouds: [{ reportOnly: 'simulated' }] });
      const vm = world.join('a');
      replica.report('a', { instance: reportedOf(vm) });
      await world.clock.advance(1000);
      replica.kube.hold();
      world.cluster.remove('a');
      world.cluster.register('a');
      const fresh = { ...reportedOf(vm), id: 'i-new', providerID: 'simulated://sim-1/i-new' };
      replica.report('a', { instance: fresh, agentId: 'another' });
      replica.kube.release();
      await world.clock.advance(1000);
      assert.equal(world.cluster.mustNode('a').spec.providerID, 'simulated://sim-1/i-new');
    });
  });
});
