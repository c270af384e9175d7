import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { maxEvidenceLength } from '../common/attestation.ts';
import { CloudError } from '../common/cloud-error.ts';
import { silentLog } from '../common/process/log.ts';
import { createMetricRegistry } from '../common/process/metrics.ts';
import type { Evidence, ReportAnswer } from '../common/report.ts';
import { fakeClock, settle } from '../common/testing/fake-clock.ts';
import { metricValue } from '../common/testing/metric-value.ts';
import { createEvidenceKeeper } from './evidence.ts';
import { agentMetrics } from './metrics.ts';

const challenge = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';
const answer = (changes: Partial<ReportAnswer> = {}): ReportAnswer => ({
  accepted: true,
  initialized: false,
  reasons: [],
  nextReportSeconds: 60,
  ...changes,
});

describe('the evidence that an agent keeps', () => {
  function setUp(read?: (challenge: string, signal: AbortSignal) => Promise<Evidence>) {
    const clock = fakeClock();
    const registry = createMetricRegistry();
    const asked: string[] = [];
    const state = { ready: 0 };
    const evidence = (given: string, signal: AbortSignal) => {
      asked.push(given);
      return read?.(given, signal) ?? Promise.resolve({ cloud: 'gce', kind: 'identity-token', document: given });
    };
    const keeper = createEvidenceKeeper(
      {
        clock,
        log: silentLog,
        metrics: registry.define(agentMetrics),
        source: { cloud: 'gce', evidence },
        onReady: () => {
          state.ready += 1;
        },
      },
      new AbortController().signal,
    );
    return { clock, registry, asked, state, keeper };
  }

  it('sends the evidence in every report after a challenge until one is answered', async () => {
    const { keeper, state } = setUp();
    assert.deepEqual(keeper.take(), {});
    keeper.answered(answer({ challenge }));
    await settle();
    assert.equal(state.ready, 1);
    assert.equal(keeper.take().evidence?.document, challenge);
    assert.equal(keeper.take().evidence?.document, challenge, 'a report that was not delivered is sent again');
    keeper.answered(answer());
    assert.deepEqual(keeper.take(), {});
  });

  it('keeps evidence that came while a report without it was in progress', async () => {
    const { keeper } = setUp();
    keeper.answered(answer({ challenge }));
    keeper.take();
    await settle();
    keeper.answered(answer());
    assert.equal(keeper.take().evidence?.document, challenge);
  });

  it('ignores a malformed challenge, and reads evidence once for a repeated one', async () => {
    const { keeper, asked } = setUp(() => new Promise(() => {}));
    for (const wrong of ['', 'short', `${challenge}&format=x`, `${challenge.slice(1)}/`]) {
      keeper.answered(answer({ challenge: wrong }));
    }
    assert.deepEqual(asked, []);
    keeper.answered(answer({ challenge }));
    keeper.answered(answer({ challenge }));
    assert.deepEqual(asked, [challenge]);
  });

  it('tells of a failure in the next report and in a metric, and tries again with the next challenge', async () => {
    const failure = new CloudError({ cloud: 'gce', operation: 'GET x', kind: 'Forbidden', message: 'status 403' });
    const failures = [failure];
    const { keeper, registry } = setUp(async (given) => {
      const error = failures.pop();
      if (error) throw error;
      return { cloud: 'gce', kind: 'identity-token', document: given };
    });
    keeper.answered(answer({ challenge }));
    await settle();
    assert.match(keeper.take().error ?? '', /evidence: .*status 403/);
    assert.equal(await metricValue(registry, 'mooring_agent_evidence_total', '{cloud="gce",outcome="Forbidden"}'), 1);
    keeper.answered(answer({ challenge }));
    await settle();
    const { evidence, error } = keeper.take();
    assert.deepEqual([evidence?.document, error], [challenge, undefined]);
  });

  it('gives up evidence after ten seconds, and when it is too large for a report', async () => {
    const { keeper, clock } = setUp(
      (_, signal) => new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
    );
    keeper.answered(answer({ challenge }));
    await clock.advance(10_000);
    assert.match(keeper.take().error ?? '', /gave up/);
    const large = setUp(async () => ({ cloud: 'gce', kind: 'k', document: 'x'.repeat(maxEvidenceLength + 1) }));
    large.keeper.answered(answer({ challenge }));
    await settle();
    assert.match(large.keeper.take().error ?? '', /expected at most/);
    assert.equal(large.keeper.take().evidence, undefined);
  });
});
