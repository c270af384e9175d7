import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { silentLog } from '../../../common/process/log.ts';
import { createMetricRegistry } from '../../../common/process/metrics.ts';
import { fakeClock } from '../../../common/testing/fake-clock.ts';
import { labels, taints } from '../../../common/well-known.ts';
import type { ObservedMember } from '../../clouds/load-balancers.ts';
import { KubeError } from '../../kube/api.ts';
import type { Leadership } from '../../kube/leadership.ts';
import { createBudgetKeeper } from '../../nodes/budget-keeper.ts';
import type { NodeView } from '../../nodes/node-view.ts';
import { uninitializedTaint } from '../../nodes/testing/example-node.ts';
import { createMemberSets, type MemberSets } from './member-sets.ts';
import { memberMetrics } from './metrics.ts';
import { idOf, memberNode, nodeList, regionCloud } from './testing/node-list.ts';

const cloud = regionCloud('r1');
const { scope } = cloud;
const marked = { taints: [{ key: taints.toBeDeletedByAutoscaler, effect: 'NoSchedule' }] };
const excluded = { labels: { [labels.excludeFromLoadBalancers]: '' } };

function named(count: number, from = 0): string[] {
  return Array.from({ length: count }, (_, at) => `n${String(from + at).padStart(3, '0')}`);
}

function held(names: readonly string[], draining = false): ObservedMember[] {
  return names.map((name) => ({ providerID: idOf(name), draining, healthy: undefined }));
}

/** The Lease, which outlives a leader. */
function lease() {
  const state = { annotations: {} as Record<string, string>, broken: false, writes: 0 };
  const leadership: Leadership = {
    leading: true,
    timeLeftMs: () => 15_000,
    leaderReportUrl: () => undefined,
    annotations: () => state.annotations,
    async annotate(changes) {
      await Promise.resolve();
      if (state.broken) throw new KubeError({ status: 503, reason: 'ServiceUnavailable', message: 'injected' });
      state.writes += 1;
      state.annotations = { ...state.annotations, ...changes } as Record<string, string>;
    },
  };
  return { state, leadership };
}

function world(first: readonly NodeView[], budget = { limit: { share: 0.1 }, windowMs: 600_000 }) {
  const clock = fakeClock();
  const nodes = nodeList(first);
  const { state, leadership } = lease();
  const paused = { value: false };
  /** What the API server has beside what the cache shows. */
  const live = { broken: false, more: [] as NodeView[] };
  let leader: MemberSets | undefined;
  const self = {
    clock,
    nodes,
    lease: state,
    paused,
    live,
    /** A new leader. */
    lead() {
      leader?.stop();
      const changes: string[] = [];
      const sets = createMemberSets({
        nodes,
        clouds: [cloud],
        clock,
        log: silentLog,
        metrics: createMetricRegistry().define(memberMetrics),
        budget: createBudgetKeeper(budget, leadership, clock),
        async liveNodes() {
          if (live.broken) throw new KubeError({ status: 503, reason: 'ServiceUnavailable', message: 'injected' });
          return [...nodes.values(), ...live.more];
        },
        paused: () => paused.value,
      });
      sets.onChange(({ hash }) => changes.push(hash));
      leader = sets;
      sets.start();
      const ask = (observed: readonly ObservedMember[] | undefined, service = 'uid-1') =>
        sets.membersFor({ scope, service, trafficPolicy: 'Cluster', observed, maxMembers: undefined, drains: true });
      const print = (observed: readonly ObservedMember[] | undefined, service?: string) =>
        ask(observed, service)
          ?.members.map(({ providerID, draining }) => `${providerID.slice(idOf('').length)}${draining ? '~' : ''}`)
          .sort()
          .join(' ');
      return { sets, changes, ask, print };
    },
    put: (...names: string[]) => {
      for (const name of names) nodes.put(memberNode(name));
    },
    remove: (...names: string[]) => {
      for (const name of names) nodes.remove(name);
    },
  };
  return self;
}

describe('the shared member sets', () => {
  it('decide nothing from a cache that is not synced', () => {
    const { nodes, lead } = world([memberNode('a')]);
    nodes.synced = false;
    assert.throws(() => lead(), /not synced/);
  });

  it('answer nothing before they are started, nor for a scope that is not ours', () => {
    const { nodes, clock } = world([]);
    const sets = createMemberSets({
      nodes,
      clouds: [cloud],
      clock,
      log: silentLog,
      metrics: createMetricRegistry().define(memberMetrics),
      budget: { take: async () => 0 },
      liveNodes: async () => nodes.values(),
      paused: () => false,
    });
    const request = {
      service: 'x',
      trafficPolicy: 'Cluster',
      observed: [],
      maxMembers: undefined,
      drains: true,
    } as const;
    assert.equal(sets.membersFor({ ...request, scope }), undefined);
    sets.start();
    assert.deepEqual(sets.membersFor({ ...request, scope })?.members, []);
    assert.equal(sets.membersFor({ ...request, scope: 'other' }), undefined);
  });

  it('are there at once, and a burst of a hundred joins is one change', async () => {
    const { clock, put, lead } = world([memberNode('a')]);
    const { changes, print } = lead();
    assert.equal(print(undefined), 'a');
    for (const name of named(100)) {
      put(name);
      await clock.advance(20);
    }
    assert.equal(changes.length, 0);
    await clock.advance(1000);
    assert.equal(changes.length, 1);
    assert.equal(print(undefined)?.split(' ').length, 101);
  });

  it('wait five seconds at most while Nodes keep joining', async () => {
    const { clock, put, lead } = world([]);
    const { changes } = lead();
    for (const name of named(16)) {
      put(name);
      await clock.advance(500);
    }
    assert.equal(changes.length, 1);
  });

  it('hear nothing of what is no fact about membership', async () => {
    const { clock, nodes, lead } = world([memberNode('a')]);
    const { changes } = lead();
    const notReady = { type: 'Ready', status: 'Unknown', reason: '', message: '' };
    nodes.put(memberNode('a', { conditions: [notReady], resourceVersion: '11' }));
    nodes.put(memberNode('new', { providerID: '', taints: [uninitializedTaint] }));
    await clock.advance(10_000);
    assert.deepEqual(changes, []);
    assert.equal(clock.pending, 0);
  });

  it('come to the same hash after a restart with nothing changed', () => {
    const { lead } = world(named(50).map((name) => memberNode(name)));
    const before = lead().ask(held(named(50)));
    assert.equal(lead().ask(held(named(50)))?.hash, before?.hash);
  });

  it('answer Services with the same members with one list, also while some drain', () => {
    const { lead } = world([memberNode('a'), memberNode('b'), memberNode('l', excluded)]);
    const { ask } = lead();
    assert.equal(ask(held(['a']), 'one')?.members, ask(undefined, 'two')?.members);
    const observed = held(['a', 'b', 'l']);
    assert.equal(ask(observed, 'one')?.members.length, 3);
    assert.equal(ask(observed, 'one')?.members, ask(observed, 'two')?.members);
  });

  it('a Service that is looked at during a slow pass never loses the newer Node', async () => {
    const { clock, put, lead } = world([memberNode('a')]);
    const { print, sets } = lead();
    const told: (string | undefined)[] = [];
    sets.onChange(() => told.push(print(held(['a']), 'slow')));
    assert.equal(print(undefined, 'slow'), 'a');
    put('b');
    await clock.advance(1000);
    // Its first update is still under way; whenever it is planned anew, it is from the set of that moment.
    assert.equal(print(held(['a']), 'slow'), 'a b');
    assert.deepEqual(told, ['a b']);
    put('c');
    await clock.advance(1000);
    assert.equal(print(held(['a', 'b']), 'slow'), 'a b c');
  });

  it('follow the stable node set of upstream', async () => {
    const { clock, nodes, lead } = world([memberNode('a'), memberNode('b')]);
    const { changes, print } = lead();
    const now = held(['a', 'b']);
    const step = async (change: () => void) => {
      change();
      await clock.advance(1000);
      return [changes.length, print(now)];
    };
    assert.deepEqual(await step(() => nodes.put(memberNode('b', { conditions: [] }))), [0, 'a b']);
    assert.deepEqual(await step(() => nodes.put(memberNode('b', excluded))), [1, 'a b~']);
    assert.deepEqual(await step(() => nodes.put(memberNode('b'))), [2, 'a b']);
    assert.deepEqual(await step(() => nodes.put(memberNode('b', marked))), [3, 'a b~']);
    assert.deepEqual(await step(() => nodes.put(memberNode('b', { deleting: true }))), [3, 'a b~']);
    assert.deepEqual(await step(() => nodes.remove('b')), [4, 'a b~']);
    assert.deepEqual(await step(() => nodes.put(memberNode('c'))), [5, 'a b~ c']);
  });
});

describe('a member whose Node is gone', () => {
  it('without a mark stays until the budget lets it go; then it drains', async () => {
    const { clock, remove, lead, lease: state } = world(named(20).map((name) => memberNode(name)));
    const { ask, print, sets, changes } = lead();
    remove('n000', 'n001', 'n002');
    await clock.advance(1000);
    const all = held(named(20));
    assert.ok(!print(all)?.includes('~'));
    assert.deepEqual(
      sets.withheld().map(({ node }) => node),
      ['n000', 'n001', 'n002'],
    );
    assert.equal(sets.explain('n000')?.state, 'MemberRemovalWithheld');
    assert.equal(changes.length, 1);
    await clock.advance(30_000);
    // Ten percent of twenty.
    assert.deepEqual(
      print(all)
        ?.split(' ')
        .filter((name) => name.includes('~')),
      ['n000~', 'n001~'],
    );
    assert.equal(changes.length, 2);
    assert.deepEqual(
      sets.withheld().map(({ node }) => node),
      ['n002'],
    );
    assert.deepEqual(ask(all)?.withheld, [idOf('n002')]);
    await clock.advance(300_000);
    assert.equal(changes.length, 2, 'nothing new while it waits');
    await clock.advance(600_000);
    assert.ok(print(all)?.includes('n002~'));
    assert.equal(state.writes, 2);
    assert.deepEqual(sets.withheld(), []);
  });

  it('and all with it: nothing is emptied, and a restart refills no budget', async () => {
    const names = named(20);
    const { clock, remove, lead, lease: state } = world(names.map((name) => memberNode(name)));
    const first = lead();
    first.print(held(names));
    remove(...names);
    await clock.advance(1000);
    first.print(held(names));
    await clock.advance(40_000);
    // Let go, they still wait for somebody else to serve.
    assert.equal(first.print(held(names)), names.join(' '));
    await clock.advance(120_000);
    const drained = (first.print(held(names))?.match(/n\d+(?=~)/g) ?? []) as string[];
    assert.deepEqual(drained, ['n000', 'n001']);
    const rest = names.filter((name) => !drained.includes(name));
    const second = lead();
    assert.equal(second.ask(held(rest))?.available, 0);
    await clock.advance(300_000);
    assert.equal(second.print(held(rest)), rest.join(' '));
    assert.equal(second.ask(held(rest))?.withheld.length, 18);
    await clock.advance(300_000);
    assert.equal(second.ask(held(rest))?.withheld.length, 17);
    assert.equal(state.writes, 2);
  });

  it('stays while the API server has its Node, though the cache of a new leader does not', async () => {
    const { clock, lead, live, lease } = world([memberNode('a')], { limit: { share: 1 }, windowMs: 600_000 });
    live.more = [memberNode('b')];
    const { print } = lead();
    assert.equal(print(held(['a', 'b'])), 'a b');
    await clock.advance(120_000);
    assert.equal(print(held(['a', 'b'])), 'a b');
    assert.equal(lease.writes, 0);
    live.more = [];
    live.broken = true;
    await clock.advance(120_000);
    assert.equal(print(held(['a', 'b'])), 'a b');
    live.broken = false;
    await clock.advance(61_000);
    assert.equal(print(held(['a', 'b'])), 'a b~');
  });

  it('and that came back under the budget`s nose is a member as before', async () => {
    const names = named(20);
    const { clock, nodes, remove, lead, lease: state } = world(names.map((name) => memberNode(name)));
    const { print, sets } = lead();
    remove(...names);
    await clock.advance(1000);
    print(held(names));
    for (const name of names) nodes.put(memberNode(name, { uid: `new-${name}`, taints: [uninitializedTaint] }));
    await clock.advance(100_000);
    assert.equal(print(held(names)), names.join(' '), 'they wait for their initialisation where they are');
    assert.deepEqual(sets.withheld(), []);
    for (const name of names) nodes.put(memberNode(name, { uid: `new-${name}` }));
    await clock.advance(1000);
    assert.equal(print(held(names)), names.join(' '));
    assert.equal(state.writes, 0);
  });

  it('that was marked before drains without budget, also when mark and deletion come in one', async () => {
    const names = named(30);
    const { clock, nodes, lead, lease: state } = world(names.map((name) => memberNode(name)));
    const { print } = lead();
    for (const name of names.slice(1)) {
      nodes.put(memberNode(name, marked));
      nodes.remove(name);
    }
    await clock.advance(1000);
    assert.equal(print(held(names)), ['n000', ...names.slice(1).map((name) => `${name}~`)].join(' '));
    assert.equal(state.writes, 0);
  });

  it('that Cluster API was about to delete needs no budget either', async () => {
    const doomed = memberNode('b', { annotations: { 'cluster.x-k8s.io/delete-machine': 'yes' } });
    const { clock, remove, lead } = world([memberNode('a'), doomed]);
    const { print } = lead();
    remove('b');
    await clock.advance(1000);
    assert.equal(print(held(['a', 'b'])), 'a b~');
  });

  it('that our own lifecycle loop deleted goes at once', async () => {
    const { clock, nodes, remove, lead } = world([memberNode('a'), memberNode('b')]);
    const { print, sets } = lead();
    sets.noteDeletion(memberNode('b'));
    remove('b');
    await clock.advance(1000);
    assert.equal(print(held(['a', 'b'])), 'a');
    // The note is used up: the next time nothing explains it.
    nodes.put(memberNode('b'));
    await clock.advance(1000);
    remove('b');
    await clock.advance(1000);
    assert.equal(print(held(['a', 'b'])), 'a b');
  });

  it('that a crash left behind is found on the load balancer, and goes when the budget allows', async () => {
    const { clock, lead, lease: state } = world([memberNode('a')]);
    const { print, changes } = lead();
    assert.equal(print(held(['a', 'b'])), 'a b');
    await clock.advance(31_000);
    assert.equal(print(held(['a', 'b'])), 'a b~');
    assert.deepEqual([state.writes, changes.length], [1, 1]);
  });

  it('that a crash left draining goes on draining without budget', async () => {
    const { clock, lead, lease: state } = world([memberNode('a')]);
    const { print, ask } = lead();
    const observed = [...held(['a']), ...held(['b'], true)];
    assert.equal(print(observed), 'a b~');
    assert.equal(ask(observed)?.recheckAfterMs, 30_000);
    await clock.advance(30_000);
    assert.equal(print(observed), 'a');
    assert.equal(state.writes, 0);
  });

  it('and that no load balancer holds costs nothing', async () => {
    const { clock, remove, lead, lease: state } = world([memberNode('a'), memberNode('b')]);
    const { print, sets } = lead();
    remove('b');
    await clock.advance(1000);
    assert.equal(print(held(['a'])), 'a');
    await clock.advance(700_000);
    assert.deepEqual([state.writes, sets.withheld(), clock.pending], [0, [], 0]);
  });

  it('goes on draining when its Node is registered anew but not initialised', async () => {
    const { clock, nodes, remove, lead } = world(named(10).map((name) => memberNode(name)));
    const { print } = lead();
    nodes.put(memberNode('n000', marked));
    remove('n000');
    await clock.advance(1000);
    const observed = [...held(['n000'], true), ...held(named(9, 1))];
    nodes.put(memberNode('n000', { uid: 'new', taints: [uninitializedTaint] }));
    await clock.advance(1000);
    assert.ok(print(observed)?.startsWith('n000~ '));
    await clock.advance(30_000);
    assert.equal(print(observed), named(9, 1).join(' '));
  });

  it('is spent for only when it has been gone for long enough', async () => {
    const { clock, remove, lead, lease: state } = world(named(40).map((name) => memberNode(name)));
    const { print, sets } = lead();
    const all = held(named(40));
    remove('n000');
    await clock.advance(20_000);
    print(all);
    remove('n001');
    await clock.advance(5000);
    print(all);
    await clock.advance(10_000);
    assert.deepEqual(
      sets.withheld().map(({ node }) => node),
      ['n001'],
    );
    assert.match(state.annotations['mooring.dev/deletion-ledger'] ?? '', /^m\d+x1$/);
  });

  it('is forgotten when no load balancer has held it for hours: years of churn cost no memory', async () => {
    const { clock, put, remove, lead } = world([memberNode('a')]);
    const { sets } = lead();
    put('b');
    await clock.advance(2000);
    remove('b');
    await clock.advance(2000);
    assert.equal(sets.explain('b')?.state, 'Gone');
    await clock.advance(4 * 3_600_000);
    put('c');
    await clock.advance(2000);
    assert.equal(sets.explain('b'), undefined);
  });

  it('is not let go while everything is paused or the ledger cannot be written', async () => {
    const { clock, lead, lease: state, paused } = world([memberNode('a')]);
    const { print } = lead();
    const observed = held(['a', 'b']);
    paused.value = true;
    print(observed);
    await clock.advance(100_000);
    assert.equal(print(observed), 'a b');
    paused.value = false;
    state.broken = true;
    await clock.advance(100_000);
    assert.equal(print(observed), 'a b');
    state.broken = false;
    await clock.advance(31_000);
    assert.equal(print(observed), 'a b~');
  });

  it('asks the budget no more after the term', async () => {
    const { clock, lead, lease: state } = world([memberNode('a')]);
    const { print, sets } = lead();
    print(held(['a', 'b']));
    sets.stop();
    assert.equal(print(held(['a', 'b'])), undefined);
    await clock.advance(100_000);
    assert.deepEqual([state.writes, clock.pending], [0, 0]);
  });
});

describe('what is said about a Node', () => {
  it('names where it stands, and nothing for one never heard of', async () => {
    const { clock, remove, nodes, lead } = world([memberNode('a'), memberNode('b', marked), memberNode('c', excluded)]);
    const { sets } = lead();
    nodes.put(memberNode('d', { taints: [uninitializedTaint] }));
    nodes.put(memberNode('e', { providerID: 'kind://x' }));
    nodes.put(memberNode('f', { taints: [{ key: taints.shutdown, effect: 'NoSchedule' }] }));
    remove('b');
    await clock.advance(1000);
    const said = ['a', 'b', 'c', 'd', 'e', 'f', 'g'].map((name) => sets.explain(name)?.state);
    assert.deepEqual(said, ['Member', 'Gone', 'Leaving', 'Uninitialized', 'Foreign', 'PoweredOff', undefined]);
    assert.match(sets.explain('c')?.message ?? '', /label excludes/);
  });
});
