import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { type TestContext, test } from 'node:test';
import type { Notice } from '../common/instance.ts';
import type { Clock } from '../common/process/clock.ts';
import { silentLog } from '../common/process/log.ts';
import { createMetricRegistry } from '../common/process/metrics.ts';
import { seededRandom } from '../common/process/random.ts';
import type { Report } from '../common/report.ts';
import { type FakeClock, fakeClock, settle } from '../common/testing/fake-clock.ts';
import { deliver } from './deliver.ts';
import { sourceKinds } from './metadata/registry.ts';
import { agentMetrics } from './metrics.ts';
import { observe } from './observe.ts';
import { composeReport } from './report.ts';
import { acceptedAnswer } from './testing/fake-controller.ts';
import { type FakeAnswer, type SeenRequest, startFakeMetadata, treeAnswer } from './testing/fake-metadata.ts';

const fixture = (name: string) => readFile(new URL(`metadata/fixtures/${name}`, import.meta.url), 'utf8');
const meta = '/latest/meta-data/';
const google = '/computeMetadata/v1/';

/** What a cloud's service answers before and after it announces something. */
interface Announcement {
  readonly cloud: string;
  readonly what: string;
  readonly kind: Notice['kind'];
  readonly deadline?: string;
  /** Paths that change, with what they answer then; until then a VM has no such path unless the tree below does. */
  readonly paths: Readonly<Record<string, string>>;
}

const scheduled = JSON.stringify({
  DocumentIncarnation: 2,
  Events: [
    {
      EventId: 'C7061BAC-AFDC-4513-B24B-AA5F13A16123',
      EventStatus: 'Scheduled',
      EventType: 'Preempt',
      ResourceType: 'VirtualMachine',
      Resources: ['aks-pool1-12345678-vmss_3'],
      NotBefore: 'Mon, 19 Sep 2026 18:29:47 GMT',
      Description: '',
      EventSource: 'Platform',
      DurationInSeconds: -1,
    },
  ],
});

const announcements: readonly Announcement[] = [
  {
    cloud: 'aws',
    what: 'spot interruption',
    kind: 'preemption',
    deadline: '2026-01-18T08:22:00.000Z',
    paths: { [`${meta}spot/instance-action`]: '{"action": "terminate", "time": "2026-01-18T08:22:00Z"}' },
  },
  {
    cloud: 'aws',
    what: 'rebalance recommendation',
    kind: 'rebalance',
    paths: { [`${meta}events/recommendations/rebalance`]: '{"noticeTime": "2026-01-18T08:20:00Z"}' },
  },
  { cloud: 'gce', what: 'preemption', kind: 'preemption', paths: { [`${google}instance/preempted`]: 'TRUE' } },
  {
    cloud: 'gce',
    what: 'maintenance',
    kind: 'maintenance',
    paths: { [`${google}instance/maintenance-event`]: 'MIGRATE_ON_HOST_MAINTENANCE' },
  },
  {
    cloud: 'azure',
    what: 'scheduled event',
    kind: 'preemption',
    deadline: '2026-09-19T18:29:47.000Z',
    paths: { '/metadata/scheduledevents': scheduled },
  },
  {
    cloud: 'alibaba',
    what: 'release of a spot instance',
    kind: 'preemption',
    deadline: '2026-01-05T18:02:00.000Z',
    paths: { [`${meta}instance/spot/termination-time`]: '2026-01-05T18:02:00Z' },
  },
];

type Answer = (request: SeenRequest, announced: Readonly<Record<string, string>>) => FakeAnswer;

const trees: Readonly<Record<string, () => Promise<Answer>>> = {
  async aws() {
    const spot = { '/latest/api/token': 'token', [`${meta}instance-life-cycle`]: 'spot' };
    const tree = { ...JSON.parse(await fixture('aws.json')), ...spot };
    return (request, announced) => treeAnswer({ ...tree, ...announced })(request);
  },
  async alibaba() {
    const tree = JSON.parse(await fixture('alibaba.json'));
    return (request, announced) => treeAnswer({ ...tree, ...announced })(request);
  },
  async azure() {
    const tree: Record<string, string> = {
      '/metadata/instance': await fixture('azure/instance.json'),
      '/metadata/loadbalancer': await fixture('azure/loadbalancer.json'),
      '/metadata/scheduledevents': JSON.stringify({ DocumentIncarnation: 1, Events: [] }),
    };
    return ({ path }, announced) => ({ ...tree, ...announced })[path.split('?', 1)[0] ?? ''];
  },
  async gce() {
    const document = await fixture('gce.json');
    return ({ path }, announced) => {
      const etag = JSON.stringify(announced);
      const headers = { 'metadata-flavor': 'Google', etag: Buffer.from(etag).toString('hex') };
      const body = path.startsWith(`${google}?recursive=true`) ? document : announced[path];
      return body === undefined ? { status: 404, headers } : { status: 200, headers, body };
    };
  },
};

/**
 * The whole agent without its process: a source on real sockets, and a clock that waits while a request is in progress.
 */
async function start(context: TestContext, cloud: string) {
  const answer = await trees[cloud]!();
  let announced: Readonly<Record<string, string>> = {};
  /** Held requests, which end when something changes. */
  const held = new Set<(answer: FakeAnswer) => void>();
  const service = await startFakeMetadata((request) => {
    const now = answer(request, announced);
    if (!request.path.includes('wait_for_change')) return now;
    const known = new URL(request.path, 'http://x').searchParams.get('last_etag');
    const current = typeof now === 'object' ? now.headers?.['etag'] : undefined;
    if (known !== current) return now;
    return new Promise((resolve) => held.add(resolve));
  });
  const clock = fakeClock(undefined, 2);
  let underWay = 0;
  const counted = countRequests(clock, (change) => {
    underWay += change;
  });
  const reports: { readonly atMs: number; readonly report: Report }[] = [];
  const stop = new AbortController();
  const random = seededRandom(1);
  const metrics = createMetricRegistry().define(agentMetrics);
  const options = { random, log: silentLog, dmi: {}, metadataUrl: service.url, scheduledEvents: true };
  const source = sourceKinds.get(cloud)!.open({ ...options, clock: counted });
  const common = { clock, random, log: silentLog, metrics };
  let sequence = 0;
  const deliverer = deliver(
    {
      ...common,
      access: {
        async current() {
          const http = async ({ body = '' }: { readonly body?: string }) => {
            reports.push({ atMs: clock.monotonic(), report: JSON.parse(body) });
            return { status: 200, header: () => null, text: JSON.stringify(acceptedAnswer) };
          };
          return { ok: true, http, token: 'x', urls: ['https://controller:1'] };
        },
        close() {},
      },
      heartbeatMs: 60_000,
      compose(leaving) {
        sequence += 1;
        const moment = { sequence, nowMs: clock.now(), leaving };
        return JSON.stringify(composeReport({ agentVersion: '0', agentId: 'a' }, observer.current(), moment));
      },
    },
    stop.signal,
  );
  const observer = observe(
    { ...common, source, pollIntervalMs: 60_000, interfaces: () => [], onChange: deliverer.wake },
    stop.signal,
  );
  context.after(async () => {
    stop.abort();
    await service.close();
  });

  /** Advances the clock by tenths of a second, and lets every request in progress end. */
  async function pass(ms: number): Promise<void> {
    for (const end = clock.monotonic() + ms; clock.monotonic() < end; ) {
      await clock.advance(Math.min(100, end - clock.monotonic()));
      await drain();
    }
  }

  async function drain(): Promise<void> {
    await settle(3);
    while (underWay > 0) await settle(1);
    await settle(3);
  }

  function announce(paths: Readonly<Record<string, string>>): void {
    announced = paths;
    for (const end of [...held]) end(answer({ method: 'GET', path: `${google}?recursive=true`, headers: {} }, paths));
    held.clear();
  }

  async function nextLook(): Promise<void> {
    const before = service.requests.length;
    while (service.requests.length === before) await pass(100);
  }

  return { clock, reports, pass, announce, drain, nextLook };
}

/** A clock that reports the timers that limit requests: a request with such a timer is in progress. */
function countRequests(clock: FakeClock, note: (change: 1 | -1) => void): Clock {
  return {
    ...clock,
    monotonic: () => clock.monotonic(),
    setTimer(ms, run) {
      // A long poll may take a minute, and nothing waits for it.
      if (ms > 10_000) return clock.setTimer(ms, run);
      note(1);
      let over = false;
      const end = () => {
        if (!over) note(-1);
        over = true;
      };
      const timer = clock.setTimer(ms, () => {
        end();
        run();
      });
      return {
        cancel() {
          end();
          timer.cancel();
        },
      };
    },
  };
}

for (const { cloud, what, kind, deadline, paths } of announcements) {
  test(`${cloud}: a notice of a ${what} is reported within five seconds, and so is its end`, async (context) => {
    const { clock, reports, pass, announce, drain, nextLook } = await start(context, cloud);
    await drain();
    await pass(10_000);
    assert.equal(reports.at(-1)?.report.instance?.cloud, cloud);
    // At any distance from the last poll and the last report, and twice right after the service was asked.
    for (const phaseMs of [100, 1300, 2500, 3700]) {
      if (phaseMs > 2000) await nextLook();
      const began = clock.monotonic();
      announce(paths);
      await pass(5000);
      const [first] = reports.filter(({ atMs, report }) => atMs >= began && report.notices !== undefined);
      assert.deepEqual(
        first?.report.notices?.map((notice) => [notice.kind, notice.deadline]),
        [[kind, deadline]],
        `announced at ${began} ms`,
      );
      announce({});
      await pass(5000);
      assert.equal(reports.at(-1)?.report.notices, undefined);
      await pass(phaseMs);
    }
  });
}
