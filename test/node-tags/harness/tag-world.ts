import assert from 'node:assert/strict';
import { setTimeout as rest } from 'node:timers/promises';
import { systemClock } from '../../../common/process/clock.ts';
import { createLog, silentLog } from '../../../common/process/log.ts';
import { createMetricRegistry } from '../../../common/process/metrics.ts';
import { seededRandom } from '../../../common/process/random.ts';
import { type FakeClock, fakeClock } from '../../../common/testing/fake-clock.ts';
import { names } from '../../../common/well-known.ts';
import type { TaggingOptions } from '../../../controller/app/options/tagging-options.ts';
import { createProcessMetrics } from '../../../controller/app/process-metrics.ts';
import { createReplica, type ReplicaOptions } from '../../../controller/app/replica.ts';
import { cloudModule } from '../../../controller/clouds/aws/index.ts';
import { identified } from '../../../controller/clouds/cloud.ts';
import { createChangeRecord } from '../../../controller/dry-run/change-record.ts';
import { createDryRun } from '../../../controller/dry-run/dry-run.ts';
import { pathOf, shippedObjectsIn } from '../../../controller/kube/shipped-objects.ts';
import type { ConfiguredCloud } from '../../../controller/model/configured-cloud.ts';
import { parseBudget } from '../../../controller/model/deletion-budget.ts';
import { strictPolicy } from '../../../controller/services/operator-policy.ts';
import { type FakeEc2, running, startFakeEc2 } from '../../clouds/aws/fake/fake-ec2.ts';
import { createKubeApiCore } from '../../kit/kube-api/kube-api-core.ts';
import { adminClient } from '../../kit/kube-api/testing/admin-client.ts';
import { type Cluster, createCluster } from '../../nodes/harness/cluster.ts';
import { inProcessKube } from '../../nodes/harness/kube-in-process.ts';
import { shipObject } from '../../nodes/harness/shipped-objects.ts';

type Tags = Readonly<Record<string, string>>;

export interface TagReplica {
  readonly logged: string[];
  /** Reasons and messages of the events about a Node. */
  events(node: string): string[];
  /** The sum of the series that have this label. */
  metric(name: string, label: string): Promise<number>;
  /** What a run without effect would have changed in the cloud. */
  planned(): string[];
  /** SIGTERM. */
  stop(): Promise<void>;
}

export interface TagReplicaOptions extends Partial<TaggingOptions> {
  readonly loops?: Partial<ReplicaOptions['loops']>;
  readonly budget?: string;
  readonly dryRun?: boolean;
}

/** The whole controller, EC2 over HTTP in this process, and a Kubernetes API; time passes on a fake clock. */
export interface TagWorld {
  readonly clock: FakeClock;
  readonly cluster: Cluster;
  readonly ec2: FakeEc2;
  replica(options?: TagReplicaOptions): Promise<TagReplica>;
  /** An instance with its Node, initialised as an earlier run left it. */
  add(n: number, tags?: Tags): string;
  tagsOf(n: number): Tags | undefined;
  /** Moves time until it holds; fails when it does not within five minutes. */
  until(what: string, holds: () => boolean): Promise<void>;
  /** Moves time, and lets answers come in. */
  pass(ms: number): Promise<void>;
  /** `CreateTags i-1 i-2` for each call so far that changes EC2. */
  changes(): string[];
  pauseAll(value: string): void;
  close(): Promise<void>;
}

export const id = (n: number) => `i-${n.toString(16).padStart(17, '0')}`;
export const providerID = (n: number) => `aws:///eu-west-1a/${id(n)}`;
export const nodeName = (n: number) => `ip-${n}.eu-west-1.compute.internal`;

export async function startTagWorld(): Promise<TagWorld> {
  const clock = fakeClock(undefined, 4);
  const random = seededRandom(1);
  const core = createKubeApiCore({ clock, random, historyLimit: 100_000 });
  const cluster = createCluster(core, clock);
  const { published } = shippedObjectsIn(names.namespace);
  shipObject(core, published);
  const ec2 = await startFakeEc2();
  const closing: (() => Promise<void> | void)[] = [];
  let number = 0;

  async function openCloud(): Promise<ConfiguredCloud> {
    const opened = await cloudModule.open(undefined, {
      clock: systemClock(),
      random: () => 0.5,
      log: silentLog,
      onCall: () => {},
      env: {
        AWS_ACCESS_KEY_ID: 'AKIDEXAMPLE',
        AWS_SECRET_ACCESS_KEY: 'secret',
        AWS_REGION: 'eu-west-1',
        AWS_ENDPOINT_URL: ec2.url,
        AWS_EC2_METADATA_DISABLED: 'true',
      },
    });
    assert.ok('identify' in opened);
    const api = await identified(opened);
    closing.push(() => api.close());
    const { name, scope, account } = api;
    return { name, scope, account, accepts: (text) => api.accepts(text), selector: undefined, bindsByName: true, api };
  }

  async function pass(ms: number): Promise<void> {
    const stepMs = ms > 10_000 ? 5000 : 500;
    for (let passed = 0; passed < ms; passed += stepMs) {
      await clock.advance(Math.min(stepMs, ms - passed));
      await rest(1);
    }
    // The answers of EC2 come over a socket.
    for (let rounds = 0; rounds < 10; rounds += 1) {
      await rest(1);
      await clock.advance(0);
    }
  }

  async function replica(options: TagReplicaOptions = {}): Promise<TagReplica> {
    const { loops = {}, budget = '10%/10m', tags = { team: 'a', cost: '1' }, limits, dryRun = false } = options;
    number += 1;
    const identity = `replica-${number}`;
    const registry = createMetricRegistry();
    const kube = inProcessKube(core, clock);
    const clouds = [await openCloud()];
    const record = createChangeRecord();
    const dry = dryRun ? createDryRun({ api: kube, clouds, record }) : undefined;
    const logged: string[] = [];
    const log = createLog({ clock, level: 'debug', format: 'text', write: (line) => logged.push(line) });
    const parsed = parseBudget(budget);
    assert.ok('limit' in parsed);
    const made = createReplica(
      {
        api: dry?.api ?? kube,
        clouds: dry?.clouds ?? clouds,
        clock,
        random,
        log,
        registry,
        identity,
        metrics: createProcessMetrics(registry),
        host: identity,
        onStartedLeading() {},
      },
      {
        lease: {
          elect: !dryRun,
          namespace: names.namespace,
          name: names.lease,
          durationMs: 15_000,
          renewDeadlineMs: 10_000,
          retryPeriodMs: 2000,
        },
        reportUrl: `https://${identity}:10270`,
        deletionBudget: parsed,
        announcedDeletionBudget: parsed,
        loops: {
          node: true,
          lifecycle: true,
          service: false,
          route: false,
          ipam: false,
          volume: false,
          tagging: true,
          ...loops,
        },
        concurrentNodeSyncs: 16,
        monitorPeriodMs: 5000,
        statusUpdateMs: 300_000,
        outOfServiceTaint: false,
        interruptionTaint: false,
        tagLabels: [],
        network: {
          clusterName: 'c',
          loadBalancerClasses: [],
          policy: strictPolicy,
          routes: false,
          bounds: { clusterCidrs: [], serviceCidrs: [], masks: {} },
          concurrentServiceSyncs: 1,
          drainMs: 0,
          removalBudget: parsed,
          loadBalancerAuditMs: 60_000,
          deleteOrphans: false,
          routeAuditMs: 60_000,
          concurrentRoutes: 1,
          ipam: undefined,
          tagging: { tags, limits },
        },
      },
    );
    const stopping = new AbortController();
    let isOver = false;
    const ended = made.run(stopping.signal).finally(() => {
      isOver = true;
    });
    const self: TagReplica = {
      logged,
      events: (node) =>
        kube.calls.flatMap(({ verb, body }) => {
          const event = body as { involvedObject?: { name: string }; reason?: string; message?: string };
          const isMine = verb === 'create' && event?.involvedObject?.name === node;
          return isMine ? [`${event.reason}: ${event.message}`] : [];
        }),
      async metric(name, label) {
        const lines = (await registry.text()).split('\n');
        assert.ok(
          lines.some((line) => line.startsWith(`# TYPE ${name} `)),
          name,
        );
        const values = lines.filter((line) => line.startsWith(`${name}{`) && line.includes(label));
        return values.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' ') + 1)), 0);
      },
      planned: () =>
        record.changes().flatMap(({ of, object, what }) => (of === 'kubernetes' ? [] : [`${object}: ${what}`])),
      async stop() {
        stopping.abort();
        while (!isOver) await pass(500);
        await ended;
      },
    };
    closing.push(() => self.stop());
    return self;
  }

  return {
    clock,
    cluster,
    ec2,
    replica,
    pass,
    add(n, tags = {}) {
      ec2.instances.set(id(n), running(id(n), { tags, privateDnsName: nodeName(n) }));
      cluster.register(nodeName(n), {
        tainted: false,
        providerID: providerID(n),
        addresses: [{ type: 'InternalIP', address: '10.0.0.1' }],
      });
      return nodeName(n);
    },
    tagsOf: (n) => ec2.instances.get(id(n))?.tags,
    async until(what, holds) {
      for (let passed = 0; !holds(); passed += 500) {
        assert.ok(passed < 300_000, `not within five minutes: ${what}`);
        await pass(500);
      }
    },
    changes: () =>
      ec2.calls
        .filter(({ action }) => !action.startsWith('Describe') && action !== 'GetCallerIdentity')
        .map(({ action, form }) => {
          const ids = [...form].filter(([key]) => key.startsWith('ResourceId.')).map(([, value]) => value);
          return [action, ...ids.map((text) => text.replace(/^i-0+/, ''))].join(' ');
        }),
    pauseAll(value) {
      const body = { data: { [names.pausedKey]: value } };
      adminClient(core, 'person')('PATCH', pathOf(published), body, 'application/merge-patch+json');
    },
    async close() {
      for (const close of closing.reverse()) await close();
      await ec2.close();
    },
  };
}
