import assert from 'node:assert/strict';
import { afterEach, describe, it } from 'node:test';
import fc from 'fast-check';
import { silentLog } from '../../common/process/log.ts';
import { createMetricRegistry } from '../../common/process/metrics.ts';
import { seededRandom } from '../../common/process/random.ts';
import { annotations } from '../../common/well-known.ts';
import { createIpamHalf } from '../../controller/ipam/ipam-half.ts';
import { parseIpamOptions } from '../../controller/ipam/ipam-options.ts';
import { ipamMetrics } from '../../controller/ipam/metrics.ts';
import { type KubeCall, KubeError } from '../../controller/kube/api.ts';
import { mutationGate } from '../../controller/kube/fence.ts';
import { overlap, parseCidr } from '../../controller/routes/cidr.ts';
import { createWorld, type Replica, type World } from '../nodes/harness/world.ts';

interface IpamReplica {
  readonly base: Replica;
  start(): Promise<void>;
  stop(): Promise<void>;
  metric(name: string, labels?: string): Promise<number>;
  /** What goes wrong with its calls. */
  fault: ((call: KubeCall, send: () => Promise<unknown>) => Promise<unknown>) | undefined;
}

const dual = '10.244.0.0/16,fd00:10::/48';

describe('pod ranges of Nodes', () => {
  let world: World;
  const replicas: IpamReplica[] = [];

  afterEach(async () => {
    for (const replica of replicas.splice(0)) await replica.stop();
    await world.close();
  });

  function replicaOf(clusterCidr: string, services = ''): IpamReplica {
    const options = parseIpamOptions({
      clusterCidr,
      serviceClusterIpRange: services,
      nodeCidrMaskSize: 0,
      nodeCidrMaskSizeIpv4: 24,
      nodeCidrMaskSizeIpv6: 64,
    });
    if ('flag' in options) throw new Error(options.expected);
    const base = world.replica();
    const registry = createMetricRegistry();
    const api = {
      ...base.kube,
      call: <T>(call: KubeCall) =>
        (self.fault ? self.fault(call, () => base.kube.call(call)) : base.kube.call(call)) as Promise<T>,
      watch: base.kube.watch,
    };
    const half = createIpamHalf(
      {
        api: mutationGate(api, { allowed: () => (base.paused ? 'paused' : true) }),
        clock: world.clock,
        random: seededRandom(1),
        log: silentLog,
        nodes: base.nodes,
        configured: [
          {
            name: 'simulated',
            scope: world.scope,
            accepts: (id) => id.startsWith('simulated://'),
            selector: undefined,
            api: undefined,
          },
        ],
        events: { emit: (target, event) => void base.events.push({ ...event, node: target.name }) },
        metrics: registry.define(ipamMetrics),
        paused: () => base.paused,
      },
      options,
    );
    let term: { readonly stop: AbortController; readonly done: Promise<void> } | undefined;
    const self: IpamReplica = {
      base,
      fault: undefined,
      async start() {
        const stop = new AbortController();
        term = { stop, done: half.lead(stop.signal) };
        base.nodes.start();
        await world.clock.advance(0);
      },
      async stop() {
        const { stop, done } = term ?? {};
        term = undefined;
        stop?.abort();
        let over = false;
        void done?.then(() => {
          over = true;
        });
        await world.clock.advance(0);
        while (done && !over) await world.clock.advance(250);
        await base.stop();
      },
      async metric(name, labels = '') {
        const line = (await registry.text()).split('\n').find((each) => each.startsWith(`${name}${labels} `));
        return line === undefined ? Number.NaN : Number(line.slice(line.lastIndexOf(' ') + 1));
      },
    };
    replicas.push(self);
    return self;
  }

  function begin(clusterCidr = '10.244.0.0/16', services = ''): IpamReplica {
    world = createWorld();
    return replicaOf(clusterCidr, services);
  }

  const ranges = (name: string) => {
    const spec = world.cluster.node(name)?.spec as { podCIDR?: string; podCIDRs?: readonly string[] } | undefined;
    return spec?.podCIDRs ?? (spec?.podCIDR === undefined ? [] : [spec.podCIDR]);
  };
  const all = () => world.cluster.names().map((name) => `${name} ${ranges(name).join(' ')}`);
  const initialised = (name: string, podCIDRs: readonly string[] = []) => {
    world.cluster.register(name, { tainted: false, providerID: `simulated://sim-1/i-${name}` });
    if (podCIDRs.length > 0) world.cluster.mergePatch(name, { spec: { podCIDR: podCIDRs[0], podCIDRs } });
  };
  const reasons = (replica: IpamReplica) => replica.base.events.map(({ node, reason }) => `${reason} ${node}`);

  it('are given while the Node still waits for initialisation, in one write', async () => {
    const replica = begin();
    world.cluster.register('a');
    await replica.start();
    await world.clock.advance(1000);
    assert.deepEqual(all(), ['a 10.244.0.0/24']);
    assert.deepEqual(replica.base.kube.writes(), ['patch /api/v1/nodes/a']);
    const body = replica.base.kube.calls.find(({ verb }) => verb === 'patch')?.body as {
      metadata: object;
      spec: object;
    };
    assert.deepEqual(Object.keys(body.metadata), ['resourceVersion']);
    assert.deepEqual(body.spec, { podCIDR: '10.244.0.0/24', podCIDRs: ['10.244.0.0/24'] });
  });

  it('are one of each family', async () => {
    const replica = begin(dual);
    initialised('a');
    initialised('b');
    await replica.start();
    await world.clock.advance(1000);
    assert.deepEqual(all(), ['a 10.244.0.0/24 fd00:10::/64', 'b 10.244.1.0/24 fd00:10:0:1::/64']);
  });

  it('that Nodes have already are kept, and never given again: after a restart nothing is written', async () => {
    const replica = begin();
    initialised('a', ['10.244.0.0/24']);
    initialised('b');
    initialised('c', ['10.244.1.0/24']);
    await replica.start();
    await world.clock.advance(1000);
    assert.deepEqual(all(), ['a 10.244.0.0/24', 'b 10.244.2.0/24', 'c 10.244.1.0/24']);
    await replica.stop();
    const next = replicaOf('10.244.0.0/16');
    await next.start();
    await world.clock.advance(600_000);
    assert.deepEqual(next.base.kube.writes(), []);
    initialised('d');
    await world.clock.advance(1000);
    assert.deepEqual(ranges('d'), ['10.244.3.0/24']);
  });

  it('that another leader gave are known though our cache has not heard of them yet', async () => {
    const replica = begin();
    await replica.start();
    await world.clock.advance(1000);
    await replica.stop();
    const next = replicaOf('10.244.0.0/16');
    next.base.nodes.start();
    await world.clock.advance(1000);
    next.base.kube.hold();
    initialised('a', ['10.244.0.0/24']);
    await next.start();
    await world.clock.advance(1000);
    next.base.kube.release();
    initialised('b');
    await world.clock.advance(1000);
    assert.deepEqual(all(), ['a 10.244.0.0/24', 'b 10.244.1.0/24']);
  });

  it('are not given before all Nodes were listed', async () => {
    const replica = begin();
    initialised('a', ['10.244.0.0/24']);
    initialised('b');
    let broken = true;
    replica.fault = async (call, send) => {
      if (broken && call.verb === 'list') throw new KubeError({ status: 503, reason: 'x', message: 'injected' });
      return send();
    };
    await replica.start();
    await world.clock.advance(120_000);
    assert.deepEqual(ranges('b'), []);
    broken = false;
    await world.clock.advance(60_000);
    assert.deepEqual(ranges('b'), ['10.244.1.0/24']);
  });

  it('are not given to foreign Nodes, and theirs are not given to others', async () => {
    const replica = begin();
    world.cluster.register('foreign', { tainted: false, providerID: 'aws:///eu-1a/i-1' });
    world.cluster.register('other', { tainted: false, providerID: 'aws:///eu-1a/i-2' });
    world.cluster.mergePatch('other', { spec: { podCIDR: '10.244.0.0/24' } });
    initialised('a');
    await replica.start();
    await world.clock.advance(600_000);
    assert.deepEqual(all(), ['a 10.244.1.0/24', 'foreign ', 'other 10.244.0.0/24']);
  });

  it('come back when the Node is gone', async () => {
    const replica = begin('10.244.0.0/23');
    initialised('a');
    initialised('b');
    await replica.start();
    await world.clock.advance(1000);
    initialised('c');
    await world.clock.advance(1000);
    assert.deepEqual(ranges('c'), []);
    assert.deepEqual(reasons(replica), ['CIDRNotAvailable c']);
    assert.equal(await replica.metric('mooring_ipam_nodes_waiting'), 1);
    await world.clock.advance(600_000);
    assert.deepEqual(reasons(replica), ['CIDRNotAvailable c']);
    world.cluster.remove('a');
    await world.clock.advance(1000);
    assert.deepEqual(ranges('c'), ['10.244.0.0/24']);
    assert.equal(await replica.metric('mooring_ipam_nodes_waiting'), 0);
  });

  it('of the first family are not lost while the second has none left', async () => {
    const replica = begin('10.244.0.0/16,fd00:10::/63');
    for (const name of ['a', 'b', 'c', 'd']) initialised(name);
    await replica.start();
    await world.clock.advance(3_600_000);
    const used = await replica.metric('node_ipam_controller_cidrset_usage_cidrs', '{clusterCIDR="10.244.0.0/16"}');
    assert.equal(used, 2 / 256);
  });

  it('outside the range are told once and stop nobody', async () => {
    const replica = begin();
    initialised('a', ['192.168.7.0/24']);
    initialised('b');
    await replica.start();
    await world.clock.advance(1000);
    world.cluster.heartbeat('a');
    await world.clock.advance(600_000);
    assert.deepEqual(all(), ['a 192.168.7.0/24', 'b 10.244.0.0/24']);
    assert.deepEqual(reasons(replica), ['CIDRNotInClusterCIDR a']);
    assert.equal(await replica.metric('mooring_ipam_nodes_strange', '{fault="outside"}'), 1);
    world.cluster.remove('a');
    await world.clock.advance(1000);
    assert.equal(await replica.metric('mooring_ipam_nodes_strange', '{fault="outside"}'), 0);
  });

  it('of Services are left out', async () => {
    const replica = begin('10.244.0.0/16', '10.244.0.0/20');
    initialised('a');
    await replica.start();
    await world.clock.advance(1000);
    assert.deepEqual(ranges('a'), ['10.244.16.0/24']);
  });

  it('are not given while the Node or everything is paused', async () => {
    const replica = begin();
    initialised('a');
    world.cluster.mergePatch('a', { metadata: { annotations: { [annotations.paused]: 'true' } } });
    initialised('b');
    replica.base.paused = true;
    await replica.start();
    await world.clock.advance(60_000);
    assert.deepEqual(all(), ['a ', 'b ']);
    replica.base.paused = false;
    await world.clock.advance(60_000);
    assert.deepEqual(all(), ['a ', 'b 10.244.0.0/24']);
    world.cluster.mergePatch('a', { metadata: { annotations: { [annotations.paused]: null } } });
    await world.clock.advance(1000);
    assert.deepEqual(ranges('a'), ['10.244.1.0/24']);
  });

  it('that somebody else gave in the same moment stand; ours go back', async () => {
    const replica = begin('10.244.0.0/23');
    let done = false;
    replica.fault = async (call, send) => {
      if (call.verb === 'patch' && !done) {
        done = true;
        world.cluster.mergePatch('a', { spec: { podCIDR: '10.244.1.0/24' } });
      }
      return send();
    };
    initialised('a');
    await replica.start();
    await world.clock.advance(1000);
    initialised('b');
    await world.clock.advance(1000);
    assert.deepEqual(all(), ['a 10.244.1.0/24', 'b 10.244.0.0/24']);
    assert.deepEqual(reasons(replica), []);
  });

  it('are the same after an answer that left things open, whether it was done or not', async () => {
    for (const effect of [true, false]) {
      const replica = begin('10.244.0.0/23');
      let lost = 0;
      replica.fault = async (call, send) => {
        if (call.verb !== 'patch' || lost > 0) return send();
        lost += 1;
        if (effect) await send();
        throw new KubeError({ status: effect ? 0 : 504, reason: 'Timeout', message: 'injected' });
      };
      initialised('a');
      await replica.start();
      initialised('b');
      await world.clock.advance(60_000);
      assert.equal(lost, 1);
      assert.deepEqual(all().sort(), ['a 10.244.0.0/24', 'b 10.244.1.0/24']);
      const used = await replica.metric('node_ipam_controller_cidrset_usage_cidrs', '{clusterCIDR="10.244.0.0/23"}');
      assert.equal(used, 1);
      for (const each of replicas.splice(0)) await each.stop();
      await world.close();
    }
    begin();
  });

  it('that the API server refuses go back, and the Node says so once', async () => {
    const replica = begin('10.244.0.0/24');
    replica.fault = async (call, send) => {
      if (call.verb === 'patch' && call.path.endsWith('/a'))
        throw new KubeError({ status: 403, reason: 'Forbidden', message: 'no right' });
      return send();
    };
    initialised('a');
    await replica.start();
    await world.clock.advance(60_000);
    initialised('b');
    await world.clock.advance(300_000);
    assert.deepEqual(ranges('b'), ['10.244.0.0/24']);
    assert.equal(reasons(replica).filter((event) => event === 'CIDRAssignmentFailed a').length, 1);
  });

  it('of a Node that came and went while nobody looked are found out', async () => {
    const replica = begin('10.244.0.0/23');
    await replica.start();
    await world.clock.advance(1000);
    await replica.stop();
    const next = replicaOf('10.244.0.0/23');
    // The list shows a Node that is gone right after, before the watch begins to tell of it.
    let shown = false;
    next.fault = async (call, send) => {
      if (call.verb !== 'list' || shown) return send();
      shown = true;
      const page = (await send()) as { items: object[] };
      const metadata = { name: 'ghost', uid: 'ghost-uid', resourceVersion: '1' };
      return { ...page, items: [...page.items, { metadata, spec: { podCIDR: '10.244.0.0/24' } }] };
    };
    await next.start();
    initialised('a');
    initialised('b');
    await world.clock.advance(60_000);
    assert.deepEqual(
      all()
        .map((line) => line.split(' ')[1])
        .sort(),
      ['', '10.244.1.0/24'],
    );
    await world.clock.advance(700_000);
    assert.deepEqual(
      all()
        .map((line) => line.split(' ')[1])
        .sort(),
      ['10.244.0.0/24', '10.244.1.0/24'],
    );
  });

  it('never overlap, and none is lost, whatever comes, goes and fails', async () => {
    world = createWorld();
    const step = fc.oneof(
      { weight: 4, arbitrary: fc.record({ do: fc.constant('add' as const), name: fc.nat(11) }) },
      { weight: 3, arbitrary: fc.record({ do: fc.constant('remove' as const), name: fc.nat(11) }) },
      { weight: 1, arbitrary: fc.record({ do: fc.constant('restart' as const), name: fc.constant(0) }) },
      { weight: 2, arbitrary: fc.record({ do: fc.constant('wait' as const), name: fc.nat(30) }) },
    );
    const fault = fc.constantFrom('ok', 'ok', 'ok', 'lost', 'unsent', 'refused', 'conflict');
    await fc.assert(
      fc.asyncProperty(
        fc.array(step, { maxLength: 40 }),
        fc.array(fault, { minLength: 1, maxLength: 30 }),
        async (steps, faults) => {
          await world.close();
          let replica = begin('10.244.0.0/21,fd00:10::/61');
          let call = 0;
          const wire = (each: IpamReplica) => {
            each.fault = async (sent, send) => {
              if (sent.verb !== 'patch') return send();
              call += 1;
              const hit = call > 60 ? 'ok' : faults[call % faults.length];
              if (hit === 'unsent') throw new KubeError({ status: 0, reason: 'Unreachable', message: 'injected' });
              if (hit === 'refused') throw new KubeError({ status: 403, reason: 'Forbidden', message: 'injected' });
              if (hit === 'conflict') throw new KubeError({ status: 409, reason: 'Conflict', message: 'injected' });
              const answer = await send();
              if (hit === 'lost') throw new KubeError({ status: 504, reason: 'Timeout', message: 'injected' });
              return answer;
            };
          };
          wire(replica);
          await replica.start();
          for (const each of steps) {
            const name = `n${each.name}`;
            if (each.do === 'add' && !world.cluster.node(name)) initialised(name);
            else if (each.do === 'remove') world.cluster.remove(name);
            else if (each.do === 'wait') await world.clock.advance(each.name * 100);
            else if (each.do === 'restart') {
              await replica.stop();
              replica = replicaOf('10.244.0.0/21,fd00:10::/61');
              wire(replica);
              await replica.start();
            }
          }
          call = 1000;
          await world.clock.advance(700_000);
          const held = world.cluster.names().flatMap((name) => ranges(name).map((text) => parseCidr(text)!));
          held.forEach((one, at) => {
            assert.ok(!held.slice(at + 1).some((other) => overlap(one, other)));
          });
          const nodes = world.cluster.names();
          const served = nodes.filter((name) => ranges(name).length === 2).length;
          assert.equal(served, Math.min(8, nodes.length));
          const used = await replica.metric(
            'node_ipam_controller_cidrset_usage_cidrs',
            '{clusterCIDR="10.244.0.0/21"}',
          );
          assert.equal(used, served / 8);
          for (const each of replicas.splice(0)) await each.stop();
        },
      ),
      { numRuns: 40, seed: 7 },
    );
  });
});
