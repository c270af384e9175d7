import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  desiredOf,
  machine,
  managedConfig,
  network,
  plainConfig,
  port,
} from '../../../../test/clouds/aws/fake/machine.ts';
import { ownerTags } from '../../load-balancers.ts';
import { keys } from '../load-balancer-annotations.ts';

const managed = () => machine({ config: managedConfig });
const reasons = (refusals: readonly { readonly reason: string }[]) => refusals.map(({ reason }) => reason);

describe('a network load balancer that other Services use', () => {
  async function shared(config = managedConfig) {
    const m = machine({ config });
    const { observed } = await m.ensure(network());
    m.networkBalancer()!.tags.set(ownerTags.consent, 'uid-c/default');
    const attach = { id: observed!.id!, allowed: false };
    const guest = desiredOf('u2', { ports: [port(8443)], attach, annotations: { [keys.type]: 'nlb' } });
    assert.deepEqual((await m.ensure(guest)).refusals, []);
    return { m, guest };
  }

  it('loses its own listener, stays, and says whose are in the way, until the last of them has gone', async () => {
    for (const config of [managedConfig, plainConfig]) {
      const { m, guest } = await shared(config);
      const { sent, refusals, observed } = await m.remove(network());
      const own = ['v2 DeleteListener', 'v2 DeleteTargetGroup'];
      assert.deepEqual([sent.filter((one) => one.startsWith('v2')), reasons(refusals)], [own, ['Conflict']]);
      assert.match(refusals[0]!.message, /stays: listener\/8443 belong to others/);
      assert.equal(observed?.owner?.service, 'uid-s');
      assert.deepEqual((await m.ensure(guest)).sent, []);
      assert.deepEqual(m.listeners(), ['TCP 8443']);
      await m.remove(guest);
      await m.remove(network());
      assert.deepEqual([m.groups(), m.rulesOfNodes()], [['sg-nodes', 'sg-persons'], []]);
      assert.deepEqual([m.networkBalancer(), m.aws.region.targetGroups.size], [undefined, 0]);
    }
  });

  it('never takes parts for its own that were kept for another Service', async () => {
    const { m, guest } = await shared();
    await m.remove({ ...guest, retain: true });
    for (const isRestarted of [false, true]) {
      if (isRestarted) m.restart();
      await m.audit();
      assert.deepEqual((await m.ensure(network())).sent, []);
    }
    await assert.rejects(m.remove(network()), /no end/);
    assert.deepEqual([m.listeners(), m.aws.region.targetGroups.size], [['TCP 80', 'TCP 8443'], 2]);
  });

  for (const [what, annotations] of [
    ['another scheme', { [keys.type]: 'nlb', [keys.internal]: 'true' }],
    ['a classic load balancer', {}],
  ] as const) {
    it(`goes on serving its own Service, too, where that asks for ${what}`, async () => {
      const { m, guest } = await shared();
      const asked = { ...network(), annotations, mayChangeAddress: true };
      const { sent, refusals } = await m.ensure(asked);
      assert.deepEqual([sent, reasons(refusals)], [[], ['Conflict']]);
      assert.match(refusals[0]!.message, /stays: listeners TCP 8443 belong to others/);
      assert.deepEqual(m.listeners(), ['TCP 80', 'TCP 8443']);
      await m.remove(guest);
      assert.deepEqual((await m.ensure(asked)).refusals, []);
    });
  }

  it('opens the health check port to a load balancer of others without groups, by the first plan, too', async () => {
    const m = machine();
    const { observed } = await m.ensure(network());
    const host = m.networkBalancer()!;
    host.tags.clear();
    host.tags.set(ownerTags.consent, 'uid-c/default');
    for (const things of [m.aws.region.listeners, m.aws.region.targetGroups]) things.clear();
    m.aws.groups.set('sg-nodes', { ...m.aws.groups.get('sg-nodes')!, ingress: [] });
    const attach = { id: observed!.id!, allowed: false };
    const guest = desiredOf('u2', { ports: [port(8443)], attach, annotations: { [keys.type]: 'nlb' } });
    for (const isFirst of [true, false]) {
      m.restart();
      await m.audit();
      assert.equal((await m.ensure(guest)).sent.length > 0, isFirst);
      const probes = m.rulesOfNodes().filter((one) => one.startsWith('tcp 10256'));
      assert.deepEqual(probes.sort(), ['tcp 10256 10.0.0.0/24', 'tcp 10256 10.0.1.0/24']);
    }
  });

  it('takes a Service that had one of its own, and gives it back, each served all the time', async () => {
    for (const config of [managedConfig, plainConfig]) {
      const m = machine({ config });
      const { observed } = await m.ensure(
        desiredOf('u2', { ports: [port(8443)], annotations: { [keys.type]: 'nlb' } }),
      );
      m.networkBalancer('au2')!.tags.set(ownerTags.consent, 'uid-c/default');
      const attach = { id: observed!.id!, allowed: false };
      const own = network({ mayChangeAddress: true });
      const attached = network({ mayChangeAddress: true, attach });
      await m.ensure(network());
      const absent = { ...attach, id: `${attach.id}9` };
      const refused = await m.ensure(network({ mayChangeAddress: true, attach: absent }));
      assert.deepEqual([refused.sent, reasons(refused.refusals)], [[], ['Unsupported']]);
      for (const asked of [attached, own, attached]) {
        const { sent, refusals } = await m.ensure(asked);
        assert.deepEqual(refusals, []);
        const removals = sent.filter((one) => /Delete(Listener|LoadBalancer)/.test(one));
        assert.ok(sent.indexOf('v2 CreateListener') < sent.indexOf(removals[0]!));
        assert.deepEqual([m.listeners(), m.targets().length], [['TCP 80', 'TCP 8443'], 2]);
        m.restart();
        assert.deepEqual((await m.ensure(asked)).sent, []);
      }
      await m.remove(attached);
      assert.deepEqual([m.listeners(), m.targets().length], [['TCP 8443'], 1]);
    }
  });

  it('keeps a load balancer that another Service came to after its deletion was planned', async () => {
    const m = managed();
    await m.ensure(network());
    const [listener] = m.aws.region.listeners.values();
    m.aws.setHook(() => undefined);
    const tags = new Map([...listener!.tags, [ownerTags.service, 'u2']]);
    const arn = `${listener!.arn}2`;
    m.aws.region.listeners.set(arn, { ...listener!, arn, port: '8443', group: 'arn-of-others', tags });
    const plan = m.balancers.planRemoval(network().owner, { retain: false });
    await m.during(m.balancers.apply(plan, { permit: () => {} })).catch(() => undefined);
    assert.ok(m.networkBalancer());
    assert.ok(!m.aws.sent.some(({ operation }) => operation === 'v2 DeleteLoadBalancer'));
  });

  it('keeps a load balancer for the listener of a person, though its tags were taken off', async () => {
    const m = managed();
    await m.ensure(network());
    const [listener] = m.aws.region.listeners.values();
    const arn = `${listener!.arn}2`;
    const ofPerson = { ...listener!, arn, port: '8443', group: 'arn-of-others', tags: new Map() };
    m.aws.region.listeners.set(arn, ofPerson);
    m.networkBalancer()!.tags.clear();
    await m.clock.advance(300_000);
    await m.audit();
    await m.remove(network()).catch(() => undefined);
    assert.ok(m.networkBalancer());
    assert.ok(m.listeners().includes('TCP 8443'));
  });

  it('leaves a listener that stands and adds none once the consent is gone', async () => {
    const { m, guest } = await shared();
    m.networkBalancer()!.tags.set(ownerTags.consent, 'uid-c');
    m.restart();
    const kept = await m.ensure(guest);
    assert.deepEqual([kept.sent, reasons(kept.refusals)], [[], ['ClusterWideConsent']]);
    const more = await m.ensure({ ...guest, ports: [...guest.ports, port(9443)] });
    assert.deepEqual([more.sent, reasons(more.refusals)], [[], ['ForeignLoadBalancer']]);
    m.networkBalancer()!.tags.delete(ownerTags.consent);
    m.restart();
    const gone = await m.ensure(guest);
    assert.deepEqual([gone.sent, reasons(gone.refusals)], [[], ['ForeignLoadBalancer']]);
    assert.deepEqual(m.listeners(), ['TCP 80', 'TCP 8443']);
  });
});
