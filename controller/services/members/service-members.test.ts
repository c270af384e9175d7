import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import type { ObservedMember } from '../../clouds/load-balancers.ts';
import { instanceOf, type LeavingReason } from './facts.ts';
import { type Departed, type Membership, nextMemberships, withDeparted } from './membership.ts';
import { type DrainTimes, type MembersRequest, membersOf, type ServiceMembers } from './service-members.ts';
import { printMembers } from './testing/member-harness.ts';
import { idOf } from './testing/node-list.ts';

const scope = 'scope';
const options = { drainMs: 30_000, maxWaitMs: 120_000 };

function facts(node: string, zone = '') {
  return {
    node,
    providerID: idOf(node),
    instance: instanceOf('simulated', idOf(node)),
    addresses: ['10.0.0.1'],
    zone,
    labels: {},
    claim: { isProved: false, isRefused: false, createdAtMs: 0 },
  };
}

interface Fleet {
  readonly active?: readonly string[];
  readonly leaving?: readonly string[];
  readonly off?: readonly string[];
  readonly waiting?: readonly string[];
  readonly departed?: Readonly<Record<string, Departed['phase']>>;
}

function setOf({ active = [], leaving = [], off = [], waiting = [], departed = {} }: Fleet): Membership {
  const reason: LeavingReason = 'Excluded';
  const eligibilities = [
    ...active.map((node) => ({ kind: 'member' as const, scope, facts: facts(node) })),
    ...leaving.map((node) => ({ kind: 'leaving' as const, scope, facts: facts(node), reason })),
    ...off.map((node) => ({ kind: 'off' as const, scope, facts: facts(node) })),
    ...waiting.map((node) => ({ kind: 'waiting' as const, scope, facts: facts(node) })),
  ];
  const changes = { eligibilities, last: new Map(), deletedByUs: () => false };
  const set = nextMemberships([{ scope, name: 'simulated' }], new Map(), changes, 0).get(scope)!;
  const gone = Object.entries(departed).map(
    ([node, phase]) =>
      [
        instanceOf('simulated', idOf(node)),
        { providerID: idOf(node), facts: facts(node), phase, sinceMs: 0, seenMs: 0 },
      ] as const,
  );
  return { ...set, departed: new Map(gone) };
}

/** `a` serves, `a!` is unhealthy, `a?` unknown, `a~` drains. */
function observed(text: string): ObservedMember[] {
  return text
    .split(' ')
    .filter((word) => word !== '')
    .map((word) => {
      const [, node = '', mark] = /^([\w-]+)([!?~+]?)$/.exec(word)!;
      const healthy = mark === '+' ? true : mark === '!' ? false : undefined;
      return { providerID: idOf(node), draining: mark === '~', healthy };
    });
}

function request(text: string | undefined, changes: Partial<MembersRequest> = {}): MembersRequest {
  return {
    scope,
    service: 'uid-1',
    trafficPolicy: 'Cluster',
    observed: text === undefined ? undefined : observed(text),
    maxMembers: undefined,
    drains: true,
    ...changes,
  };
}

const print = ({ members }: Pick<ServiceMembers, 'members'>) => printMembers(members);

function ask(fleet: Fleet, text: string | undefined, changes: Partial<MembersRequest> = {}): string {
  return print(membersOf(setOf(fleet), request(text, changes), options, 0));
}

describe('the members of one Service', () => {
  const table: readonly [string, Fleet, string | undefined, string][] = [
    [
      'a new load balancer takes the active members and no others',
      { active: ['a', 'b'], leaving: ['l'], departed: { g: 'unexplained' } },
      undefined,
      'a b',
    ],
    ['a leaving member that a load balancer holds drains', { active: ['a'], leaving: ['l'] }, 'a l', 'a l~'],
    ['a leaving member that no load balancer holds is not brought back', { active: ['a'], leaving: ['l'] }, 'a', 'a'],
    ['a member that drains goes on draining', { active: ['a'], leaving: ['l'] }, 'a l~', 'a l~'],
    ['a member that was drained and is active again takes connections', { active: ['a', 'l'] }, 'a l~', 'a l'],
    ['a member whose VM is off goes at once', { active: ['a'], off: ['o'] }, 'a o', 'a'],
    ['a member whose VM is proved gone goes at once', { active: ['a'], departed: { g: 'out' } }, 'a g', 'a'],
    ['a member that vanished unexplained stays', { active: ['a'], departed: { g: 'unexplained' } }, 'a g', 'a g'],
    ['a member that the budget let go drains', { active: ['a'], departed: { g: 'drains' } }, 'a g', 'a g~'],
    ['an unknown member stays', { active: ['a'] }, 'a stray', 'a stray'],
    ['an uninitialised member stays where it is', { active: ['a'], waiting: ['w'] }, 'a w', 'a w'],
    ['an uninitialised member joins nowhere', { active: ['a'], waiting: ['w'] }, 'a', 'a'],
    ['members that all vanished stay', { departed: { x: 'unexplained', y: 'unexplained' } }, 'x y', 'x y'],
    ['a member that is listed twice is kept once', { active: ['a'], departed: { g: 'unexplained' } }, 'a g g', 'a g'],
  ];
  for (const [what, fleet, text, expected] of table) it(what, () => assert.equal(ask(fleet, text), expected));

  it('tells which removals the budget refused, how many members there are, and how many a cap omits', () => {
    const fresh = setOf({ active: ['a', 'b', 'c'], departed: { g: 'unexplained' } });
    assert.deepEqual(membersOf(fresh, request('a g'), options, 0).withheld, []);
    const fleet = withDeparted(
      fresh,
      new Map([...fresh.departed].map(([instance, one]) => [instance, { ...one, refused: true }])),
    );
    assert.notEqual(fleet.hash, fresh.hash);
    const members = membersOf(fleet, request('a g', { maxMembers: 2 }), options, 0);
    assert.deepEqual([members.withheld, members.available, members.omitted], [[idOf('g')], 3, 2]);
    assert.equal(members.members.length, 2);
  });

  it('a member that is known only by its id has no address and no name', () => {
    const { members } = membersOf(setOf({}), request('stray'), options, 0);
    assert.deepEqual(members, [{ node: '', providerID: idOf('stray'), addresses: [], zone: '', draining: false }]);
  });

  it('a member whose id the cloud spells in another way than its Node is the same', () => {
    const uuid = '11111111-2222-3333-4444-555555555555';
    const providerID = `openstack:///${uuid}`;
    const facts = {
      node: 'a',
      providerID,
      instance: instanceOf('openstack', providerID),
      addresses: [],
      zone: '',
      labels: {},
      claim: { isProved: false, isRefused: false, createdAtMs: 0 },
    };
    const changes = {
      eligibilities: [{ kind: 'member' as const, scope, facts }],
      last: new Map(),
      deletedByUs: () => false,
    };
    const set = nextMemberships([{ scope, name: 'openstack' }], new Map(), changes, 0).get(scope)!;
    const observed = [
      { providerID: `openstack://RegionOne/${uuid.toUpperCase()}`, draining: false, healthy: undefined },
    ];
    const members = membersOf(set, { ...request(''), observed }, options, 0);
    assert.deepEqual([members.members.map((member) => member.providerID), members.withheld], [[providerID], []]);
  });

  it('shares the list of active members where there are no others', () => {
    const set = setOf({ active: ['a', 'b'] });
    assert.equal(membersOf(set, request('a b'), options, 0).members, set.members);
  });

  it('a leaving member is removed as soon as another serves, where the cloud does not drain', () => {
    assert.equal(ask({ active: ['a'], leaving: ['l'] }, 'a l', { drains: false }), 'a');
    assert.equal(ask({ active: ['a'], leaving: ['l'] }, 'l', { drains: false }), 'a l');
  });
});

/** A cloud that does what it is told: plays looks until nothing is left to wait for. */
function play(fleet: Fleet, first: string, changes: Partial<MembersRequest> = {}, settle?: (text: string) => string) {
  const set = setOf(fleet);
  let drainTimes: DrainTimes | undefined;
  let text = first;
  let now = 0;
  const story: string[] = [];
  for (let look = 0; look < 100; look += 1) {
    const result = membersOf(set, request(text, { ...changes, drainTimes }), options, now);
    drainTimes = result.drainTimes;
    const wanted = print(result);
    if (story.at(-1)?.slice(story.at(-1)!.indexOf(' ') + 1) !== wanted) story.push(`${now / 1000}s ${wanted}`);
    const done = wanted === text && result.againInMs === undefined;
    if (done) break;
    const applied = wanted !== text;
    text = settle?.(wanted) ?? wanted;
    if (!applied || settle !== undefined) now += result.againInMs ?? 0;
  }
  assert.equal(drainTimes, undefined, 'nothing is remembered in the end');
  return story;
}

describe('a drain', () => {
  it('lasts for the drain time, and then the member is removed', () => {
    assert.deepEqual(play({ active: ['a'], leaving: ['l'] }, 'a l'), ['0s a l~', '30s a']);
  });

  it('restarts its waits after a restart without any flapping member', () => {
    assert.deepEqual(play({ active: ['a'], leaving: ['l'] }, 'a l~'), ['0s a l~', '30s a']);
  });

  it('counts from when the load balancer shows it', () => {
    const set = setOf({ active: ['a'], leaving: ['l'] });
    const { drainTimes: late } = membersOf(set, request('a l'), options, 0);
    const { drainTimes, againInMs } = membersOf(set, request('a l~', { drainTimes: late }), options, 100_000);
    assert.equal(againInMs, 30_000);
    assert.equal(print(membersOf(set, request('a l~', { drainTimes }), options, 129_999)), 'a l~');
    assert.equal(print(membersOf(set, request('a l~', { drainTimes }), options, 130_000)), 'a');
  });
});

describe('make before break', () => {
  it('keeps the last members until others serve', () => {
    assert.deepEqual(play({ active: ['n'], leaving: ['l', 'm'] }, 'l m'), ['0s l m n', '15s l~ m~ n', '45s n']);
  });

  it('drains a leaving member at once where others served before', () => {
    assert.deepEqual(play({ active: ['a', 'n'], leaving: ['l'] }, 'a l'), ['0s a l~ n', '30s a n']);
  });

  it('waits only until an added member is healthy, where the cloud reports health', () => {
    const healthy = (text: string) => text.replaceAll(/(\w)( |$)/g, '$1+$2');
    assert.deepEqual(play({ active: ['n'], leaving: ['l'] }, 'l', {}, healthy), ['0s l n', '5s l~ n', '35s n']);
  });

  it('drains a leaving member with Cluster while one serving member remains', () => {
    assert.equal(ask({ active: ['a', 'n'], leaving: ['l'] }, 'a l'), 'a l~ n');
  });

  it('drains a leaving member with Local without a wait for a refused one', () => {
    const local = { trafficPolicy: 'Local' } as const;
    const fleet = { active: ['a', 'r'], leaving: ['l'] };
    assert.equal(ask(fleet, 'a+ l+', local), 'a l r');
    assert.equal(ask(fleet, 'a+ l+', { ...local, refused: new Set([idOf('r')]) }), 'a l~ r');
  });

  it('adds every new member with Local before the first old one drains', () => {
    const local = { trafficPolicy: 'Local' } as const;
    assert.equal(ask({ active: ['a', 'n'], leaving: ['l'] }, 'a l', local), 'a l n');
    assert.equal(ask({ active: ['a', 'n'], leaving: ['l'] }, 'a l n', local), 'a l~ n');
  });

  it('waits until a staying member is healthy, where the cloud reports health', () => {
    const local = { trafficPolicy: 'Local' } as const;
    assert.equal(ask({ active: ['a', 'n'], leaving: ['l'] }, 'a! l+ n?', local), 'a l n');
    assert.equal(ask({ active: ['a', 'n'], leaving: ['l'] }, 'a! l+ n+', local), 'a l~ n');
  });

  it('reads the load balancer again while the decision depends on health checks', () => {
    const set = setOf({ active: ['n'], leaving: ['l'] });
    let drainTimes: DrainTimes | undefined;
    const look = (text: string) => {
      const result = membersOf(set, request(text, { drainTimes }), options, 0);
      drainTimes = result.drainTimes;
      return result.readAgain;
    };
    assert.deepEqual(['l', 'l n', 'l+ n', 'l+ n+'].map(look), [false, true, true, false]);
  });

  it('waits for the maximal time at most', () => {
    const unhealthy = (text: string) => text.replaceAll(/\b([an])\b/g, '$1!');
    const story = play({ active: ['a', 'n'], leaving: ['l'] }, 'a! l+ n!', { trafficPolicy: 'Local' }, unhealthy);
    assert.deepEqual(story, ['0s a l n', '120s a l~ n', '150s a n']);
  });

  it('removes half of the leaving members at once when they fill the cap', () => {
    const fleet = { active: ['x', 'y', 'z'], leaving: ['l', 'm'] };
    const story = play(fleet, 'l m', { maxMembers: 2 });
    assert.match(story[0]!, /^0s l~ m [xyz]$/);
    assert.match(story[1]!, /^15s l~ m~ [xyz] [xyz]$/);
    assert.match(story.at(-1)!, /^\d+s [xyz] [xyz]$/);
  });
});

describe('the members of any load balancer', () => {
  const phases = ['active', 'leaving', 'off', 'waiting', 'out', 'drains', 'unexplained', 'unknown'] as const;
  const names = Array.from({ length: 12 }, (_, at) => `n${at}`);
  const worlds = fc.record({
    phases: fc.array(fc.constantFrom(...phases), { minLength: 12, maxLength: 12 }),
    held: fc.array(fc.constantFrom('', '~', '!', '+', '?', 'absent'), { minLength: 12, maxLength: 12 }),
    trafficPolicy: fc.constantFrom('Cluster' as const, 'Local' as const),
    maxMembers: fc.option(fc.integer({ min: 1, max: 14 }), { nil: undefined }),
    drains: fc.boolean(),
  });

  it('gains only active Nodes, and loses only released ones', () => {
    fc.assert(
      fc.property(worlds, ({ phases, held, trafficPolicy, maxMembers, drains }) => {
        const pick = (phase: string) => names.filter((_, at) => phases[at] === phase);
        const fleet = {
          active: pick('active'),
          leaving: pick('leaving'),
          off: pick('off'),
          waiting: pick('waiting'),
          departed: Object.fromEntries(
            (['out', 'drains', 'unexplained'] as const).flatMap((phase) => pick(phase).map((name) => [name, phase])),
          ),
        };
        const text = names.flatMap((name, at) => (held[at] === 'absent' ? [] : [`${name}${held[at]}`])).join(' ');
        const wanted = request(text, { trafficPolicy, maxMembers, drains });
        const { members } = membersOf(setOf(fleet), wanted, options, 0);
        const ids = members.map(({ providerID }) => providerID);
        assert.equal(new Set(ids).size, ids.length, 'no duplicates');
        for (const [at, name] of names.entries()) {
          const phase = phases[at]!;
          const isHeld = held[at] !== 'absent';
          const member = members.find(({ providerID }) => providerID === idOf(name));
          if (phase === 'active' && maxMembers === undefined) assert.equal(member?.draining, false);
          if (phase !== 'active' && !isHeld) assert.equal(member, undefined, `${name} joined`);
          if (isHeld && (phase === 'waiting' || phase === 'unexplained' || phase === 'unknown')) {
            assert.equal(member?.draining, held[at] === '~', `${name} is as it was`);
          }
          if (phase === 'off' || phase === 'out') assert.equal(member, undefined);
          if (isHeld && drains && (phase === 'leaving' || phase === 'drains')) {
            assert.ok(member, `${name} was removed without a drain`);
            if (held[at] === '~') assert.ok(member.draining, `${name} flapped`);
          }
        }
      }),
      { numRuns: 500 },
    );
  });
});
