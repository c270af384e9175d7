import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import type { Validity } from './ca.ts';
import {
  applyAction,
  bundleOf,
  type CertificateAction,
  type CertificateState,
  type Issued,
  planCertificates,
} from './certificate-plan.ts';

const hour = 3_600_000;
const day = 24 * hour;

/** Names instead of certificates: `<ca-3>` is an authority's, `serving-7 by <ca-3>` what it signed. */
function modelIssuer() {
  let counter = 0;
  return (state: CertificateState | undefined, action: CertificateAction): Issued => {
    counter += 1;
    const authority = (validity: Validity) => ({ cert: `<ca-${counter}>`, key: `key of <ca-${counter}>`, ...validity });
    const serving = (by: string, validity: Validity) => ({
      cert: `serving-${counter} by ${by}`,
      key: 'key',
      ...validity,
    });
    if (action.type === 'create') {
      const made = authority(action.authority);
      return { authority: made, serving: serving(made.cert, action.serving) };
    }
    if (action.type === 'prepare') return { authority: authority(action.authority) };
    if (action.type === 'renew') return { serving: serving(state?.current.cert ?? '', action.serving) };
    if (action.type === 'promote') return { serving: serving(state?.next?.cert ?? '', action.serving) };
    return {};
  };
}

/** The Secret, the ConfigMap and a leader that works on them. */
function modelCluster() {
  const issue = modelIssuer();
  const cluster = {
    state: undefined as CertificateState | undefined,
    published: '',
    /** Steps until there is nothing to do, or a write fails. @returns what was done */
    pass(now: number, publishFails = false): string[] {
      const done: string[] = [];
      for (let step = 0; step < 20; step += 1) {
        const action = planCertificates(cluster.state, cluster.published, now);
        if (action.type === 'wait') return done;
        if (action.type === 'publish') {
          if (publishFails) return done;
          cluster.published = action.bundle;
        } else {
          cluster.state = applyAction(cluster.state, action, issue(cluster.state, action), now);
        }
        done.push(action.type);
      }
      return assert.fail(`never done: ${done.join(' ')}`);
    },
  };
  return cluster;
}

const start = Date.parse('2026-01-01T00:00:00Z');

describe('the plan of certificates', () => {
  it('creates and publishes at once where there is nothing, and then waits for renewal', () => {
    const cluster = modelCluster();
    assert.deepEqual(cluster.pass(start), ['create', 'publish']);
    assert.deepEqual(planCertificates(cluster.state, cluster.published, start), {
      type: 'wait',
      untilMs: start + 60 * day,
    });
  });

  it('takes the same steps in three years at any hour', () => {
    const cluster = modelCluster();
    const story: string[] = [];
    for (let now = start; now < start + 1095 * day; now += hour) {
      const done = cluster.pass(now);
      if (done.length > 0) story.push(`${Math.floor((now - start) / day)} ${done.join(' ')}`);
    }
    assert.deepEqual(
      story.filter((line) => !line.endsWith(' renew')),
      [
        '0 create publish',
        '370 prepare publish mark',
        '610 promote publish',
        '730 retire publish',
        '740 prepare publish mark',
        '980 promote publish',
      ],
    );
    assert.deepEqual(story.slice(1, 4), ['60 renew', '120 renew', '180 renew']);
  });

  it('keeps a copy of the bundle good that is renewed every six months, whenever that began', () => {
    const cluster = modelCluster();
    const years = Array.from({ length: 20 * 365 }, (_, at) => {
      cluster.pass(start + at * day);
      return { bundle: cluster.published, signer: cluster.state?.serving.cert.split(' by ')[1] ?? '?' };
    });
    const everyDays = 183;
    for (let began = 0; began < everyDays; began += 1)
      for (const [at, { signer }] of years.entries()) {
        if (at < began) continue;
        const copied = at - ((at - began) % everyDays);
        assert.ok(years[copied]?.bundle.includes(signer), `day ${at} with the copy of day ${copied}`);
      }
  });

  it('replaces what was issued while the clock was ahead', () => {
    for (const aheadMs of [5 * hour, 40 * day, 3650 * day]) {
      const cluster = modelCluster();
      cluster.pass(start + aheadMs);
      assert.deepEqual(cluster.pass(start), ['create', 'publish']);
      assert.ok((cluster.state?.current.notBefore ?? start) < start);
      assert.deepEqual(cluster.pass(start), []);
    }
    const cluster = modelCluster();
    cluster.pass(start);
    assert.deepEqual(cluster.pass(start + 70 * day), ['renew']);
    assert.deepEqual(cluster.pass(start + day), ['renew'], 'the authority is fine');
    assert.ok((cluster.state?.serving.notBefore ?? start + day) < start + day);
    assert.deepEqual(cluster.pass(start + day), []);
  });

  it("keeps two leaders whose clocks differ from replacing each other's certificates in turn", () => {
    for (const [behindMs, expected] of [
      [hour, []],
      [6 * hour, ['create', 'publish']],
    ] as const) {
      const cluster = modelCluster();
      cluster.pass(start);
      assert.deepEqual(cluster.pass(start - behindMs), expected);
      for (let now = start; now < start + 5 * day; now += hour) {
        assert.deepEqual([...cluster.pass(now), ...cluster.pass(now - behindMs)], []);
      }
    }
  });

  it('restarts the lead time when the next authority was removed from the ConfigMap', () => {
    const cluster = modelCluster();
    cluster.pass(start);
    cluster.pass(start + 609 * day);
    const { current } = cluster.state ?? assert.fail();
    cluster.published = current.cert;
    const found = start + 610 * day - hour;
    assert.deepEqual(cluster.pass(found), ['unmark', 'publish', 'mark']);
    assert.deepEqual(cluster.pass(found + day - 1), []);
    assert.deepEqual(cluster.pass(found + day).slice(0, 1), ['promote']);
  });

  it('never promotes an authority that could not be published', () => {
    const cluster = modelCluster();
    cluster.pass(start);
    for (let now = start + 600 * day; now < start + 660 * day; now += day) {
      assert.ok(!cluster.pass(now, true).includes('promote'));
    }
  });

  it('renews while the ConfigMap cannot be written', () => {
    const cluster = modelCluster();
    cluster.pass(start);
    cluster.pass(start + 609 * day, true);
    assert.ok(cluster.state && cluster.state.serving.notAfter > start + 609 * day + 60 * day);
  });

  it('starts over after all certificates expired', () => {
    const cluster = modelCluster();
    cluster.pass(start);
    const before = cluster.state;
    assert.deepEqual(cluster.pass(start + 800 * day), ['create', 'publish']);
    assert.ok(cluster.state?.current.cert !== before?.current.cert);
  });

  it('uses the next authority at once when the current one has expired', () => {
    const cluster = modelCluster();
    cluster.pass(start);
    cluster.pass(start + 609 * day);
    assert.deepEqual(cluster.pass(start + 731 * day).slice(0, 1), ['promote']);
  });

  it('ends with nothing to do from any state at any time', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 900 * day }), { maxLength: 12 }), (gaps) => {
        const cluster = modelCluster();
        let now = start;
        for (const gap of gaps) {
          now += gap;
          cluster.pass(now);
          assert.equal(planCertificates(cluster.state, cluster.published, now).type, 'wait');
          assert.equal(cluster.published, bundleOf(cluster.state ?? assert.fail()));
        }
      }),
    );
  });

  interface Turn {
    /**
     * 0 and 1: agents, which look at least once a day; 2 and 3: replicas, which load within 25 days; else the leader.
     */
    readonly actor: number;
    readonly gap: number;
    readonly publishFails: boolean;
  }

  function turns(longestGap: number, count: number): fc.Arbitrary<Turn[]> {
    const turn = fc.record({
      actor: fc.nat({ max: 7 }),
      gap: fc.integer({ min: 1, max: longestGap }),
      publishFails: fc.boolean(),
    });
    return fc.array(turn, { minLength: count, maxLength: count });
  }

  /**
   * Lets all replicas act in turn, after `quietDays` in which only the leader did, and checks every agent against every
   * replica after each.
   */
  function play(quietDays: number, timeline: readonly Turn[]): void {
    const cluster = modelCluster();
    let now = start;
    for (let passed = 0; passed <= quietDays; passed += 1) {
      now = start + passed * day;
      cluster.pass(now);
    }
    const agents = [0, 1].map(() => ({ bundle: cluster.published, lookedAt: now }));
    const replicas = [0, 1].map(() => ({ serving: cluster.state?.serving ?? assert.fail(), loadedAt: now }));
    const look = (agent: (typeof agents)[number]) => Object.assign(agent, { bundle: cluster.published, lookedAt: now });
    const load = (replica: (typeof replicas)[number]) =>
      Object.assign(replica, { serving: cluster.state?.serving, loadedAt: now });
    for (const { actor, gap, publishFails } of timeline) {
      const target = now + gap;
      // An agent that would be late looks on time.
      for (;;) {
        now = Math.min(target, ...agents.map((agent) => agent.lookedAt + day));
        for (const agent of agents) if (agent.lookedAt + day <= now) look(agent);
        if (now === target) break;
      }
      for (const replica of replicas) if (replica.loadedAt + 25 * day <= now) load(replica);
      const agent = agents[actor];
      const replica = replicas[actor - 2];
      if (agent) look(agent);
      else if (replica) load(replica);
      else {
        cluster.pass(now, publishFails);
        // A leader serves by what it just stored.
        load(replicas[0] ?? assert.fail());
      }
      for (const { serving } of replicas) {
        assert.ok(serving.notBefore <= now && now < serving.notAfter, 'expired');
        const issuer = serving.cert.split(' by ')[1] ?? '?';
        for (const { bundle } of agents) assert.ok(bundle.includes(issuer), `${bundle} lacks ${issuer}`);
      }
    }
  }

  it('lets every agent verify every replica at every moment, however they take turns for a year', () => {
    fc.assert(
      fc.property(turns(20 * hour, 1_000), (timeline) => play(0, timeline)),
      { numRuns: 30 },
    );
  });

  it('lets every agent verify every replica while one authority hands over to the next', () => {
    fc.assert(
      fc.property(turns(5 * hour, 60), (timeline) => play(608, timeline)),
      { numRuns: 300 },
    );
  });
});
