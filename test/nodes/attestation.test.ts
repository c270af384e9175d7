import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { annotations, conditions, labels, taints } from '../../common/well-known.ts';
import { EvidenceRefusal } from '../../controller/reports/attestation/verdict.ts';
import { providerID, type Replica, reportedOf, type World, type WorldOptions } from './harness/world.ts';
import { worldStage } from './harness/world-stage.ts';

describe('a Node of a cloud that signs identity', () => {
  const begin = worldStage();
  let world: World;
  let replica: Replica;

  async function setUp(options: WorldOptions = { clouds: [{ requireAttestation: true }] }): Promise<void> {
    ({ world, replica } = begin(options));
    await replica.start();
  }

  const tainted = (name: string) => world.cluster.hasTaint(name, taints.uninitialized);
  const shown = (name: string) => world.cluster.condition(name, conditions.cloudInitialized);
  const label = (name: string) => world.cluster.mustNode(name).metadata.labels?.[labels.attested];

  it('initialises a Node without evidence and without mark while the flag is not set', async () => {
    await setUp({});
    const vm = world.join('a');
    replica.attest('a', vm);
    await world.clock.advance(1000);
    assert.deepEqual([tainted('a'), label('a')], [false, undefined]);
  });

  it('waits for evidence under --require-attestation and then sets the mark', async () => {
    await setUp();
    const vm = world.join('a');
    await world.clock.advance(90_000);
    assert.deepEqual([tainted('a'), shown('a')?.reason], [true, 'AttestationRequired']);
    assert.match(shown('a')?.message ?? '', /no agent of this Node has reported/);
    replica.report('a', { instance: reportedOf(vm) });
    await world.clock.advance(90_000);
    assert.match(shown('a')?.message ?? '', /no signed document/);
    replica.attest('a', vm);
    await world.clock.advance(1000);
    assert.deepEqual([tainted('a'), label('a'), shown('a')?.reason], [false, 'fresh', 'Initialized']);
  });

  it('says on the Node why its evidence was refused, and what the agent says', async () => {
    await setUp();
    const vm = world.join('a');
    const metadata = { ok: true, ageSeconds: 0, failures: 0, error: 'evidence: status 404' };
    replica.report('a', { instance: reportedOf(vm), metadata });
    await world.clock.advance(1000);
    assert.match(shown('a')?.message ?? '', /status 404/);
    replica.report('a', { instance: reportedOf(vm) }, { refused: new EvidenceRefusal('BadSignature') });
    await world.clock.advance(90_000);
    assert.match(shown('a')?.message ?? '', /BadSignature/);
    assert.equal(tainted('a'), true);
  });

  for (const requireAttestation of [true, false]) {
    const flag = `${requireAttestation ? 'with' : 'without'} the flag`;
    it(`says IdentityConflict when the document names another VM, ${flag}`, async () => {
      await setUp({ clouds: [{ requireAttestation }] });
      const victim = world.cloud.model.create({ name: 'database' });
      const own = world.cloud.model.create({ name: 'a' });
      world.cluster.register('a', { providerID: providerID(victim) });
      const { id, incarnation } = own;
      const instance = { assurance: 'psat+fresh', cloud: 'simulated', id, incarnation } as const;
      // Its agent claims the victim's instance, the evidence is its own machine's.
      const attestation = { instance, agentId: 'agent-a', atMs: 0 };
      replica.report('a', { instance: reportedOf(victim) }, { attestation });
      await world.clock.advance(90_000);
      assert.deepEqual([tainted('a'), shown('a')?.reason, label('a')], [true, 'IdentityConflict', undefined]);
      assert.match(shown('a')?.message ?? '', /signed document/);
    });
  }

  it('refuses a Node with the providerID of another VM, whose own Node is initialised', async () => {
    await setUp();
    const victim = world.cloud.model.create({ name: 'victim' });
    world.cluster.register('rogue', { providerID: providerID(victim) });
    replica.report('rogue', { instance: reportedOf(victim) });
    await world.clock.advance(90_000);
    assert.deepEqual([tainted('rogue'), shown('rogue')?.reason], [true, 'AttestationRequired']);
    world.cluster.register('victim', { systemUuid: victim.smbiosUuid ?? '' });
    replica.attest('victim', victim);
    await world.clock.advance(5000);
    assert.deepEqual([tainted('victim'), label('victim'), tainted('rogue')], [false, 'fresh', true]);
  });

  it('keeps a Node without the taint from holding the instance of a proved Node', async () => {
    await setUp();
    const victim = world.cloud.model.create({ name: 'victim' });
    world.cluster.register('rogue', { providerID: providerID(victim), tainted: false });
    await world.clock.advance(30_000);
    world.cluster.register('victim', { systemUuid: victim.smbiosUuid ?? '' });
    replica.attest('victim', victim);
    await world.clock.advance(5000);
    assert.deepEqual([tainted('victim'), label('victim'), label('rogue')], [false, 'fresh', undefined]);
  });

  for (const requireAttestation of [true, false]) {
    const flag = `${requireAttestation ? 'with' : 'without'} the flag`;
    it(`lets a VM's own Node in when another Node's document names that VM, ${flag}`, async () => {
      await setUp({ clouds: [{ requireAttestation }] });
      const victim = world.cloud.model.create({ name: 'victim' });
      const own = world.cloud.model.create({ name: 'rogue' });
      world.cluster.register('rogue', { providerID: providerID(victim), tainted: false });
      const { id, incarnation } = own;
      const instance = { assurance: 'psat+fresh', cloud: 'simulated', id, incarnation } as const;
      const attestation = { instance, agentId: 'agent-rogue', atMs: 0 };
      replica.report('rogue', { instance: reportedOf(victim) }, { attestation });
      await world.clock.advance(310_000);
      // A change of the Node in the cache is no way back to the instance.
      world.cluster.heartbeat('rogue');
      await world.clock.advance(310_000);
      assert.deepEqual([shown('rogue')?.reason, label('rogue')], ['IdentityConflict', undefined]);
      world.cluster.register('victim', { systemUuid: victim.smbiosUuid ?? '' });
      replica.attest('victim', victim);
      await world.clock.advance(5000);
      assert.deepEqual([tainted('victim'), shown('victim')?.reason], [false, 'Initialized']);
      assert.deepEqual([shown('rogue')?.reason, label('rogue')], ['IdentityConflict', undefined]);
    });
  }

  it('keeps an initialised Node when the flag is set later, and marks it with its next evidence', async () => {
    await setUp({});
    const vm = world.join('a');
    await world.clock.advance(1000);
    assert.equal(tainted('a'), false);
    await replica.stop();
    const { world: later, replica: leader } = begin({ clouds: [{ requireAttestation: true }] });
    world = later;
    await leader.start();
    const twin = later.cloud.model.create({ name: vm.name });
    later.cluster.register('a', { tainted: false, providerID: providerID(twin) });
    await later.clock.advance(310_000);
    assert.deepEqual([tainted('a'), label('a')], [false, undefined]);
    leader.attest('a', twin);
    await later.clock.advance(1000);
    assert.deepEqual([tainted('a'), label('a')], [false, 'fresh']);
  });

  it('writes nothing of a VM on a Node that registered without the taint, and says why', async () => {
    await setUp();
    const victim = world.join('victim');
    world.cluster.kubelet('victim');
    replica.attest('victim', victim);
    await world.clock.advance(1000);
    world.cluster.register('rogue', { tainted: false, providerID: providerID(victim) });
    world.cluster.kubelet('rogue');
    const before = world.cluster.mustNode('rogue');
    await world.clock.advance(700_000);
    assert.equal(shown('rogue')?.reason, 'IdentityConflict');
    assert.match(shown('rogue')?.message ?? '', /held by live Node victim/);
    world.cluster.remove('victim');
    await world.clock.advance(700_000);
    assert.equal(shown('rogue')?.reason, 'AttestationRequired');
    const { metadata, status } = world.cluster.mustNode('rogue');
    assert.deepEqual(status.addresses, before.status.addresses);
    assert.deepEqual(metadata.labels, before.metadata.labels);
    assert.equal(metadata.annotations?.[annotations.instance], undefined);
    replica.attest('rogue', victim);
    await world.clock.advance(1000);
    assert.deepEqual([shown('rogue')?.reason, label('rogue')], ['Initialized', 'fresh'], 'it was the VM after all');
  });

  it('leaves a Node that was initialised before the flag as it is, and says so where it is outdated', async () => {
    await setUp();
    const vm = world.cloud.model.create({ name: 'a' });
    world.cluster.register('a', {
      tainted: false,
      providerID: providerID(vm),
      addresses: [{ type: 'InternalIP', address: '10.9.9.9' }],
      annotations: { [annotations.instance]: `${world.scope} ${vm.incarnation}` },
    });
    world.cluster.kubelet('a');
    const events = replica.events.length;
    world.cluster.setCondition('a', { type: conditions.cloudInitialized, status: 'True', reason: 'Initialized' });
    replica.kube.forgetCalls();
    await world.clock.advance(1_800_000);
    assert.deepEqual([tainted('a'), shown('a')?.reason], [false, 'AttestationRequired']);
    assert.deepEqual([replica.kube.writes(), replica.events.length], [['patch /api/v1/nodes/a/status'], events]);
    assert.deepEqual(world.cluster.mustNode('a').status.addresses, [{ type: 'InternalIP', address: '10.9.9.9' }]);
    replica.attest('a', vm);
    await world.clock.advance(15_000);
    assert.deepEqual([shown('a')?.reason, label('a')], ['Initialized', 'fresh']);
    assert.notEqual(world.cluster.mustNode('a').status.addresses?.[0]?.address, '10.9.9.9');
  });

  it('says nothing on a Node without proof that is up to date', async () => {
    await setUp();
    const vm = world.join('a');
    world.cluster.kubelet('a');
    replica.attest('a', vm);
    await world.clock.advance(15_000);
    await replica.stop();
    world.cluster.mergePatch('a', { metadata: { labels: { [labels.attested]: null } } });
    const next = world.replica();
    await next.start();
    await world.clock.advance(1_800_000);
    assert.deepEqual([shown('a')?.reason, next.kube.writes(), next.events], ['Initialized', [], []]);
  });

  it('writes zone and region as signed where no API exists, whatever the body says', async () => {
    await setUp({ clouds: [{ reportOnly: 'simulated', requireAttestation: true }] });
    const vm = world.join('a');
    const { id, incarnation, zone, region } = vm;
    const instance = { assurance: 'psat+fresh', cloud: 'simulated', id, incarnation, zone, region } as const;
    const attestation = { instance, agentId: 'agent-a', atMs: 0 };
    replica.report('a', { instance: { ...reportedOf(vm), zone: 'elsewhere', region: 'nowhere' } }, { attestation });
    await world.clock.advance(1000);
    const held = world.cluster.mustNode('a').metadata.labels;
    assert.deepEqual([held?.[labels.zone], held?.[labels.region]], [zone, region]);
  });
});
