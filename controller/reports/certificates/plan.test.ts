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
} from './plan.ts';

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

  it('does the same steps in two years whatever the hour', () => {
    const cluster = modelCluster();
    const story: string[] = [];
    for (let now = start; now < start + 730 * day; now += hour) {
      const done = cluster.pass(now);
      if (done.length > 0) story.push(`${Math.floor((now - start) / day)} ${done.join(' ')}`);
    }
    assert.deepEqual(story.slice(0, 8), [
      '0 create publish',
      '60 renew',
      '120 renew',
      '180 renew',
      '240 renew',
      '245 prepare publish mark',
      '246 promote publish',
      '306 renew',
    ]);
    assert.equal(story.filter((line) => line.includes('promote')).length, 2);
    assert.equal(story.filter((line) => line.includes('retire')).length, 2);
  });

  it('starts counting again when the next authority was taken from the ConfigMap', () => {
    const cluster = modelCluster();
    cluster.pass(start);
    cluster.pass(start + 246 * day);
    const { current } = cluster.state ?? assert.fail();
    cluster.published = current.cert;
    const found = start + 247 * day - hour;
    assert.deepEqual(cluster.pass(found), ['unmark', 'publish', 'mark']);
    assert.deepEqual(cluster.pass(found + day - 1), []);
    assert.deepEqual(cluster.pass(found + day).slice(0, 1), ['promote']);
  });

  it('never promotes what could not be published', () => {
    const cluster = modelCluster();
    cluster.pass(start);
    for (let now = start + 240 * day; now < start + 300 * day; now += day) {
      assert.ok(!cluster.pass(now, true).includes('promote'));
    }
  });

  it('renews while the ConfigMap cannot be written', () => {
    const cluster = modelCluster();
    cluster.pass(start);
    cluster.pass(start + 246 * day, true);
    assert.ok(cluster.state && cluster.state.serving.notAfter > start + 246 * day + 60 * day);
  });

  it('starts afresh after everything expired', () => {
    const cluster = modelCluster();
    cluster.pass(start);
    const before = cluster.state;
    assert.deepEqual(cluster.pass(start + 400 * day), ['create', 'publish']);
    assert.ok(cluster.state?.current.cert !== before?.current.cert);
  });

  it('uses the next authority at once when the current one expired meanwhile', () => {
    const cluster = modelCluster();
    cluster.pass(start);
    cluster.pass(start + 246 * day);
    assert.deepEqual(cluster.pass(start + 366 * day).slice(0, 1), ['promote']);
  });

  it('ends with nothing to do from any state at any time', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 500 * day }), { maxLength: 12 }), (gaps) => {
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

  it('lets every agent verify every replica at every moment, however they take turns', () => {
    const gap = (longest: number) => fc.integer({ min: 1, max: longest });
    const event = fc.record({
      // Who acts next, and how long after the event before. An agent looks at least once a day, a standby within a month, the leader within twenty days.
      actor: fc.nat({ max: 5 }),
      gap: gap(20 * hour),
      publishFails: fc.boolean(),
    });
    fc.assert(
      fc.property(fc.array(event, { minLength: 900, maxLength: 1_200 }), (events) => {
        const cluster = modelCluster();
        cluster.pass(start);
        const agents = [0, 1].map(() => ({ bundle: cluster.published, lookedAt: start }));
        const replicas = [0, 1].map(() => ({ serving: cluster.state?.serving ?? assert.fail(), lookedAt: start }));
        let now = start;
        let ledAt = start;
        const look = (agent: { bundle: string; lookedAt: number }) => {
          agent.bundle = cluster.published;
          agent.lookedAt = now;
        };
        const load = (replica: { serving: CertificateState['serving']; lookedAt: number }) => {
          replica.serving = cluster.state?.serving ?? assert.fail();
          replica.lookedAt = now;
        };
        for (const one of events) {
          const target = now + one.gap;
          // Whoever would be late acts on time, in the order in which they are due.
          for (;;) {
            const due = Math.min(...agents.map((agent) => agent.lookedAt + day), target);
            if (due >= target) break;
            now = due;
            for (const agent of agents) if (agent.lookedAt + day <= now) look(agent);
          }
          now = target;
          for (const agent of agents) if (agent.lookedAt + day <= now) look(agent);
          for (const replica of replicas) if (replica.lookedAt + 25 * day <= now) load(replica);
          if (one.actor < 2) look(agents[one.actor] ?? assert.fail());
          else if (one.actor < 4) load(replicas[one.actor - 2] ?? assert.fail());
          else if (one.actor === 4 || now - ledAt > 4 * day) {
            cluster.pass(now, one.publishFails);
            ledAt = now;
          }
          for (const { serving } of replicas) {
            assert.ok(serving.notBefore <= now && now < serving.notAfter, 'expired');
            const issuer = serving.cert.split(' by ')[1] ?? '?';
            for (const { bundle } of agents) assert.ok(bundle.includes(issuer), `${bundle} lacks ${issuer}`);
          }
        }
      }),
      { numRuns: 60 },
    );
  });
});
