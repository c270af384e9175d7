import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createMetricRegistry, createStandardMetrics, defineMetrics } from './metrics.ts';

const definitions = defineMetrics({
  calls: { name: 'x_calls_total', type: 'counter', help: 'Calls.', labels: ['cloud', 'code'] },
  restarts: { name: 'x_restarts_total', type: 'counter', help: 'Restarts.' },
  age: { name: 'x_age_seconds', type: 'gauge', help: 'Age.' },
  depth: { name: 'x_depth', type: 'gauge', help: 'Depth.', labels: ['queue'] },
  took: { name: 'x_took_seconds', type: 'histogram', help: 'Time.', buckets: [0.1, 1] },
});

test('counts, sets and observes by definition', async () => {
  const registry = createMetricRegistry();
  const metrics = registry.define(definitions);
  metrics.calls.add({ cloud: 'aws', code: 'ok' });
  metrics.calls.add({ cloud: 'aws', code: 'ok' }, 2);
  metrics.restarts.add();
  metrics.depth.set({ queue: 'nodes' }, 4);
  metrics.depth.set({ queue: 'routes' }, 1);
  metrics.depth.remove({ queue: 'routes' });
  metrics.took.observe(0.5);
  let age = 1;
  metrics.age.collect(() => metrics.age.set(age));
  age = 7;
  const text = await registry.text();
  assert.match(
    text,
    /# HELP x_calls_total Calls\.\n# TYPE x_calls_total counter\nx_calls_total\{cloud="aws",code="ok"\} 3\n/,
  );
  assert.match(text, /x_restarts_total 1\n/);
  assert.match(text, /x_depth\{queue="nodes"\} 4\n/);
  assert.doesNotMatch(text, /routes/);
  assert.match(text, /x_age_seconds 7\n/);
  assert.match(text, /x_took_seconds_bucket\{le="1"\} 1\n/);
});

test('two registries share nothing', async () => {
  const first = createMetricRegistry();
  const second = createMetricRegistry();
  first.define(definitions).restarts.add(5);
  second.define(definitions).restarts.add();
  assert.match(await second.text(), /x_restarts_total 1\n/);
});

test('refuses a second metric of the same name', () => {
  const registry = createMetricRegistry();
  registry.define(definitions);
  assert.throws(() => registry.define(definitions), /x_calls_total/);
});

test('refuses definitions that contradict themselves', () => {
  assert.throws(() => defineMetrics({ a: { name: 'x', type: 'histogram', help: 'h' } }), /metric x: buckets/);
  assert.throws(() => defineMetrics({ a: { name: 'x', type: 'gauge', help: 'h', buckets: [1] } }), /metric x: buckets/);
  assert.throws(() => defineMetrics({ a: { name: 'X-y', type: 'gauge', help: 'h' } }), /snake_case/);
  assert.throws(() => defineMetrics({ a: { name: 'x', type: 'gauge', help: '' } }), /help/);
});

test('serves the standard metrics of the process after its own', async () => {
  const registry = createMetricRegistry(createStandardMetrics());
  registry.define(definitions).restarts.add();
  const text = await registry.text();
  for (const name of ['process_cpu_seconds_total', 'process_resident_memory_bytes', 'nodejs_eventloop_lag_p99_seconds'])
    assert.match(text, new RegExp(`^x_restarts_total 1$[\\s\\S]*^${name} [0-9]`, 'm'));
});
