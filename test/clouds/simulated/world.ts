import assert from 'node:assert/strict';
import type { Http } from '../../../common/process/http.ts';
import { silentLog } from '../../../common/process/log.ts';
import { seededRandom } from '../../../common/process/random.ts';
import { advanceDuring, fakeClock } from '../../../common/testing/fake-clock.ts';
import type { CloudContext } from '../../../controller/clouds/cloud.ts';
import type { LoadBalancerStep } from '../../../controller/clouds/load-balancer-step.ts';
import type {
  DesiredLoadBalancer,
  DesiredMember,
  DesiredPort,
  LoadBalancerRef,
  ObservedLoadBalancer,
} from '../../../controller/clouds/load-balancers.ts';
import type { ApplyOptions } from '../../../controller/clouds/permit.ts';
import type { SimulatedConfig } from '../../../controller/clouds/simulated/config.ts';
import { createSimulatedCloud as createSandboxCloud, type SimulatedCloudOptions } from '../../kit/cloud/cloud.ts';
import { inProcessHttp } from '../../kit/cloud/in-process.ts';
import { openSimulated } from './open.ts';

export const cluster = '6f1ad1b6-3f0e-4d6c-9a8e-0d2c3e4f5a6b';
export const place = 'demo/sim-1';

/** The client straight into a simulated cloud of its own, on a clock that is told when to move. */
export function newWorld(
  options: Partial<SimulatedCloudOptions> & {
    readonly config?: Partial<SimulatedConfig>;
    readonly seed?: number;
    readonly through?: (http: Http) => Http;
  } = {},
) {
  const { config: more, seed = 5, through = (plain) => plain, ...rest } = options;
  const clock = fakeClock();
  const random = seededRandom(seed);
  const sandbox = createSandboxCloud({ clock, random, ...rest });
  const config: SimulatedConfig = { endpoint: 'http://cloud', project: 'demo', region: 'sim-1', ...more };
  const http = through(inProcessHttp(sandbox.api, clock));
  const credential = async () => sandbox.credential;
  const permits: number[] = [];
  const permitted: ApplyOptions = { permit: (timeoutMs) => permits.push(timeoutMs) };
  const context = { clock, random, log: silentLog, env: {}, onCall: () => {} };
  const open = (more: Partial<CloudContext> = {}) =>
    openSimulated({ config, context: { ...context, ...more }, http, credential });

  /** The load balancers with a memory of their own, as after a restart. */
  function connect() {
    const { loadBalancers } = open({ mutationTimeoutMs: 8000 });
    assert.ok(loadBalancers);
    return loadBalancers;
  }

  const during = <T>(work: Promise<T>) => advanceDuring(clock, work);
  return {
    clock,
    sandbox,
    network: sandbox.network,
    calls: sandbox.calls,
    config,
    permits,
    permitted,
    during,
    open,
    connect,
  };
}

export type World = ReturnType<typeof newWorld>;

export function membersOf({ sandbox }: World, count: number): DesiredMember[] {
  return sandbox.model.createMany(count).map(({ id, name, zone }) => ({
    node: name,
    providerID: `simulated://sim-1/${id}`,
    addresses: [],
    zone,
    draining: false,
  }));
}

export const http: DesiredPort = { name: 'http', protocol: 'TCP', port: 80, nodePort: 30080, appProtocol: undefined };
export const https: DesiredPort = {
  name: 'https',
  protocol: 'TCP',
  port: 443,
  nodePort: 30443,
  appProtocol: undefined,
};
export const dns: DesiredPort = { name: 'dns', protocol: 'UDP', port: 53, nodePort: 30053, appProtocol: undefined };

const uid = '0b7c5d5e-8a51-4f0c-9f2b-7d1e2f3a4b5c';

export function desiredWith(changes: Partial<DesiredLoadBalancer> = {}): DesiredLoadBalancer {
  const owner = changes.owner ?? { cluster, service: uid };
  return {
    owner,
    service: 'default/web',
    clusterName: 'kubernetes',
    name: `a${owner.service.replaceAll('-', '')}`.slice(0, 32),
    ports: [http],
    families: ['IPv4'],
    sourceRanges: [],
    sessionAffinity: undefined,
    trafficPolicy: 'Cluster',
    healthCheck: { port: 10256, path: '/healthz' },
    address: undefined,
    annotations: {},
    members: [],
    attach: undefined,
    mayChangeAddress: false,
    clusterWideConsent: false,
    mayKeepAddress: true,
    retain: false,
    ...changes,
  };
}

export function refOf(desired: DesiredLoadBalancer, id?: string): LoadBalancerRef {
  const { owner, name, service, address, attach } = desired;
  return { owner, name, service, id, address, attachTo: attach?.id };
}

type Client = ReturnType<World['connect']>;

/** What a controller does: observe, apply the plan, plan again, wait while the cloud works. */
export async function reach(world: World, client: Client, desired: DesiredLoadBalancer, id?: string) {
  const applied: LoadBalancerStep[] = [];
  let observed = await client.observe(refOf(desired, id));
  for (let round = 0; round < 60; round += 1) {
    const plan = client.plan(desired);
    if (plan.steps.length > 0) {
      const onStep = (one: LoadBalancerStep) => void applied.push(one);
      observed = await world.during(client.apply(plan, { ...world.permitted, onStep }));
    } else if (plan.waitMs !== undefined) {
      await world.clock.advance(plan.waitMs);
      observed = await client.observe(refOf(desired, observed?.id ?? id));
    } else {
      return { applied, observed, refusals: plan.refusals };
    }
  }
  return assert.fail(`no end after ${applied.map(({ summary }) => summary).join('; ')}`);
}

/** @returns what is left, undefined when nothing is */
export async function remove(
  world: World,
  client: Client,
  observed: ObservedLoadBalancer,
  ref: LoadBalancerRef,
  retain = false,
) {
  const applied: LoadBalancerStep[] = [];
  let now: ObservedLoadBalancer | undefined = observed;
  for (let round = 0; round < 60 && now; round += 1) {
    if (now.owner === undefined) break;
    const plan = client.planRemoval(now.owner, { retain });
    if (plan.steps.length > 0) {
      const onStep = (one: LoadBalancerStep) => void applied.push(one);
      now = await world.during(client.apply(plan, { ...world.permitted, onStep }));
    } else if (plan.waitMs !== undefined) {
      await world.clock.advance(plan.waitMs);
      now = await client.observe({ ...ref, id: now.id ?? ref.id });
    } else {
      break;
    }
  }
  return { applied, left: now };
}

/** `create load balancer`, `update pool`. */
export function does(steps: readonly LoadBalancerStep[]): string[] {
  return steps.map(({ action, resource }) => `${action} ${resource}`);
}

export const annotation = (name: string) => `service.beta.kubernetes.io/simulated-load-balancer-${name}`;

export function theirs({ network }: World, changes: { name?: string; tags?: Record<string, string> } = {}) {
  const { loadBalancer } = network.loadBalancers.create(place, {
    name: 'theirs',
    tags: {},
    scheme: 'external',
    families: ['IPv4'],
    addresses: [],
    clientToken: undefined,
    pools: [
      { name: 'p', tags: {}, healthCheck: undefined, sessionAffinity: undefined, members: [], clientToken: undefined },
    ],
    listeners: [
      {
        name: 'l',
        tags: {},
        protocol: 'TCP',
        port: 80,
        memberPort: 80,
        sourceRanges: [],
        pool: 'p',
        proxyProtocol: false,
        tls: false,
        clientToken: undefined,
      },
    ],
    ...changes,
  });
  return loadBalancer;
}

export function reserve(
  { network }: World,
  tags: Record<string, string>,
  scheme: 'external' | 'internal' = 'external',
) {
  return network.addresses.reserve(place, { family: 'IPv4', scheme, tags }).address.ip;
}
