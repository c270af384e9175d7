import assert from 'node:assert/strict';
import { type Http, HttpFailure } from '../../../common/process/http.ts';
import { silentLog } from '../../../common/process/log.ts';
import { type FakeClock, fakeClock } from '../../../common/testing/fake-clock.ts';
import { openClient } from '../../../controller/clouds/hetzner/client.ts';
import { createLoadBalancerDriver } from '../../../controller/clouds/hetzner/load-balancers/driver.ts';
import { marked } from '../../../controller/clouds/hetzner/load-balancers/labels.ts';
import type { DesireInput, LoadBalancerDriver } from '../../../controller/clouds/load-balancer-driver.ts';
import type {
  DesiredLoadBalancer,
  DesiredMember,
  Ingress,
  NodeLabel,
} from '../../../controller/clouds/load-balancers.ts';
import { WithheldError } from '../../../controller/clouds/permit.ts';
import { createEngine, type Engine } from '../../../controller/engine/engine.ts';
import type { JournalState } from '../../../controller/engine/journal.ts';
import type { Request, Result } from '../../../controller/engine/request.ts';
import { type Found, isOwnedBy } from '../../../controller/engine/resource.ts';
import { Crash, drive, type Hit } from '../../../controller/engine/testing/environment.ts';
import { queriesOf } from '../../../controller/services/balancers/service-engines.ts';
import type { FakeCall, Json } from '../fake-http.ts';
import { desiredFor, port } from '../suite/desired.ts';
import { pageOf } from './fake-api.ts';
import { createFakeHetzner, token } from './fake-hetzner.ts';
import type { FakeHetzner } from './fake-project.ts';
import type { FakeBalancer } from './fake-resources.ts';

export const cluster = '11111111-2222-4333-8444-555555555555';
export const owner = { cluster, service: '66666666-7777-4888-8999-000000000000' };
export const prefix = 'load-balancer.hetzner.cloud/';

export interface HarnessOptions {
  /** Name of the private network; all servers are in it. */
  readonly network?: string;
  readonly servers?: number;
  /** For how long lists show what was before. */
  readonly lagMs?: number;
  readonly defaults?: Readonly<Record<string, string>>;
  /** Main addresses by number. */
  readonly dedicated?: ReadonlyMap<string, string>;
}

export type Ask = Partial<Omit<DesiredLoadBalancer, 'annotations'>> & {
  /** Without the prefix. */
  readonly annotations?: Readonly<Record<string, string>>;
};

/** What the engine makes of a fake project for Services, with the calls that it takes. */
export interface BalancerHarness {
  readonly clock: FakeClock;
  readonly fake: FakeHetzner;
  readonly members: readonly DesiredMember[];
  readonly journals: Map<string, JournalState>;
  /** Two ports and all members, in fsn1. */
  desired(ask?: Ask): DesiredLoadBalancer;
  reconcile(desired: DesiredLoadBalancer | undefined, more?: More): Promise<Result>;
  /** The same, until it has an end. */
  settle(desired: DesiredLoadBalancer | undefined, more?: More): Promise<Result>;
  /** With one thing that goes wrong; a new process after each crash. Answers how many calls and permits there were. */
  converge(desired: DesiredLoadBalancer | undefined, hit: Hit | undefined, more?: More): Promise<Converged>;
  /** Another process: nothing is left but the journals and the project. */
  restart(): void;
  audit(): Promise<void>;
  /** What the Service's status shows. */
  ingress(): readonly Ingress[];
  /** Which Nodes alone are asked for, as the latest annotations say. */
  nodeLabels(): readonly NodeLabel[] | undefined;
  /** `POST /load_balancers/{id}/actions/add_service`, since the last time this was asked; without polls. */
  calls(): string[];
  /** The only one, or that of a name. */
  balancer(name?: string): FakeBalancer;
  /** Made by others. */
  addBalancer(name: string, more?: Partial<FakeBalancer>): FakeBalancer;
  /** What the classic controller made for the Service. */
  addClassic(more?: Partial<FakeBalancer>): FakeBalancer;
}

export interface More extends Partial<Omit<Request<DesireInput>, 'desired' | 'adopts'>> {
  /** Addresses of the status, for `--adopt`. */
  readonly adopt?: readonly string[];
}

export interface Converged {
  readonly calls: number;
  readonly permits: number;
  /** Undefined: it came to no end. */
  readonly result: Result | undefined;
}

/** Default name of what serves the Service, for us and for the classic controller. */
export const classicName = 'a6666666677774888899900000000000';

const maxRounds = 80;
const isPoll = ({ path }: FakeCall) => path === '/v1/actions';

export function createBalancerHarness(options: HarnessOptions = {}): BalancerHarness {
  const { servers = 2, lagMs = 0, defaults = {}, dedicated } = options;
  const clock = fakeClock(undefined, 2);
  const fake = createFakeHetzner(clock);
  const network = options.network === undefined ? undefined : fake.addNetwork(options.network);
  const members = Array.from({ length: servers }, (_, index): DesiredMember => {
    const server = fake.addServer(`n${index}`, network === undefined ? {} : { network: network.id });
    const addresses = [server.privateNets[0]?.ip ?? server.ipv4!];
    return { node: server.name, providerID: `hcloud://${server.id}`, addresses, zone: '', draining: false };
  });
  const journals = new Map<string, JournalState>();
  const history: { readonly atMs: number; readonly shown: Readonly<Record<string, Json[]>> }[] = [];
  let epoch = 0;
  let hit: Hit | undefined;
  const counts = { calls: 0, permits: 0 };
  let lookedAt = 0;

  function crash(): never {
    epoch += 1;
    throw new Crash();
  }
  function remember(): void {
    const shown = {
      load_balancers: [...fake.balancers.values()].map(fake.showBalancer),
      certificates: [...fake.certificates.values()].map(
        (one): Json => ({ ...one, labels: { ...one.labels }, used_by: [], status: null }),
      ),
    };
    history.push({ atMs: clock.monotonic(), shown: structuredClone(shown) });
  }
  /** Lists show what was, reads by id what is. */
  fake.fault = (call) => {
    if (lagMs === 0) return undefined;
    remember();
    const collection = call.path.slice('/v1/'.length);
    const seen = history.findLast(({ atMs }) => atMs <= clock.monotonic() - lagMs) ?? history[0];
    const list = call.method === 'GET' ? seen?.shown[collection] : undefined;
    return list === undefined ? undefined : pageOf(collection, list, call.query);
  };

  function http(mine: number): Http {
    return async (request) => {
      if (mine !== epoch) throw new Crash();
      const at = request.url.includes('/v1/actions?') ? undefined : counts.calls++;
      const fault = at !== undefined && at === hit?.at ? hit.fault : undefined;
      if (fault === 'crash before') crash();
      const refused = (status: number, code: string, headers: Record<string, string> = {}) => ({
        status,
        header: (name: string) => headers[name] ?? null,
        text: JSON.stringify({ error: { code, message: 'fault' } }),
      });
      if (fault === 'unavailable') return refused(503, 'unavailable');
      if (fault === 'throttled') return refused(429, 'rate_limit_exceeded');
      const answer = await fake.http(request);
      if (lagMs > 0 && request.method !== 'GET') {
        remember();
        clock.setTimer(fake.actions.durationMs, () => {
          fake.actions.settle();
          remember();
        });
      }
      if (fault === 'crash after') crash();
      if (fault === 'lost') throw new HttpFailure('timeout', 'no answer');
      return answer;
    };
  }

  function startEngine(): Engine<DesireInput> {
    const mine = epoch;
    const alive = () => {
      if (mine !== epoch) throw new Crash();
    };
    const client = openClient(
      { clock, random: () => 0.5, log: silentLog, env: {}, onCall: () => undefined },
      {
        endpoint: 'http://hetzner.test/v1',
        authorization: `Bearer ${token}`,
        limits: { perSecond: 1000, burst: 1000 },
        wrapHttp: () => http(mine),
      },
    );
    const driver = createLoadBalancerDriver({
      client,
      defaults: new Map(Object.entries({ location: 'fsn1', ...defaults })),
      network: network && { id: async () => String(network.id) },
      dedicatedServers: dedicated && (async () => dedicated),
    });
    current = driver;
    const made = createEngine<DesireInput>({
      driver,
      cluster,
      clock,
      allServicesDeclared: () => true,
      permit: () => () => {
        alive();
        const at = counts.permits++;
        if (at !== hit?.at) return;
        if (hit.fault === 'withheld') throw new WithheldError('Paused', 'paused');
        if (hit.fault === 'crash at permit') crash();
      },
      async saveJournal({ service }, state) {
        alive();
        journals.set(service, structuredClone(state));
      },
    });
    for (const [service, stored] of journals) made.replaceJournal({ cluster, service }, structuredClone(stored));
    return made;
  }
  let current: LoadBalancerDriver | undefined;
  let latest: DesiredLoadBalancer | undefined;
  let engine = startEngine();

  function requestOf(desired: DesiredLoadBalancer | undefined, { adopt, ...more }: More): Request<DesireInput> {
    const mine = engine;
    latest = desired;
    const of = desired?.owner ?? owner;
    const foundOf = (kind: string) => mine.found.ofKind(kind);
    const proof = { clusterName: 'kubernetes', addresses: adopt ?? [] };
    const adopts =
      adopt &&
      ((found: Found) => {
        const { service = '', name = '' } = desired ?? {};
        return current!.adopts!(found, { owner: of, service, name, id: undefined, found: foundOf, proof });
      });
    const ours = () => {
      const { all, isOurs } = mine.match(of, adopts);
      return all.filter((one) => isOurs(one) && (one.owner === undefined || one.owner.service === of.service));
    };
    return {
      owner: of,
      desired: desired && { ...queriesOf(mine.found), desired, own: ours },
      ...(adopts && { adopts }),
      ...more,
    };
  }
  const reconcile: BalancerHarness['reconcile'] = (desired, more = {}) =>
    drive(clock, engine.reconcile(requestOf(desired, more)));

  const harness: BalancerHarness = {
    clock,
    fake,
    members,
    journals,
    reconcile,
    desired: ({ annotations = {}, ...ask } = {}) =>
      desiredFor(owner, [], {
        service: 'shop/web',
        ports: [port(80, 30080), port(443, 30443)],
        members,
        ...ask,
        annotations: Object.fromEntries(Object.entries(annotations).map(([key, value]) => [prefix + key, value])),
      }),
    async settle(desired, more) {
      for (let tries = 0; tries < maxRounds; tries += 1) {
        const result = await reconcile(desired, more);
        if (result.state === 'settled' || result.state === 'refused') return result;
        await clock.advance(result.againInMs ?? 1000);
      }
      return assert.fail('it does not settle');
    },
    async converge(desired, fault, more = {}) {
      hit = fault;
      Object.assign(counts, { calls: 0, permits: 0 });
      let result: Result | undefined;
      for (let round = 0; round < maxRounds; round += 1) {
        const mine = epoch;
        result = await reconcile(desired, more).catch((error: unknown) => {
          if (error instanceof Crash || mine !== epoch) return undefined;
          if (error instanceof Error && error.name === 'CloudError') return undefined;
          throw error;
        });
        if (mine !== epoch) harness.restart();
        else if (result?.state === 'settled' || result?.state === 'refused') break;
        await clock.advance(result?.againInMs ?? 1000);
        result = undefined;
      }
      hit = undefined;
      return { ...counts, result };
    },
    restart() {
      epoch += 1;
      engine = startEngine();
    },
    audit: () => drive(clock, engine.audit()),
    ingress() {
      const { all } = engine.found;
      const main = all.find((one) => one.kind === 'load balancer' && isOwnedBy(one, owner));
      assert.ok(main, 'there is no load balancer of the Service');
      return current!.show(
        main,
        all.filter(({ within }) => within === main.id),
        engine.found.ofKind,
      ).ingress;
    },
    nodeLabels: () => current!.nodeLabels!(latest?.annotations ?? {}),
    calls() {
      const calls = fake.calls.slice(lookedAt).filter((call) => !isPoll(call));
      lookedAt = fake.calls.length;
      return calls.map(({ method, path }) => `${method} ${path.slice('/v1'.length).replace(/\/\d+/g, '/{id}')}`);
    },
    balancer(name) {
      const all = [...fake.balancers.values()].filter((one) => name === undefined || one.name === name);
      assert.equal(all.length, 1, `load balancers ${name ?? ''}: ${all.map((one) => one.name).join(', ')}`);
      return all[0]!;
    },
    addBalancer(name, more = {}) {
      const body = { name, load_balancer_type: 'lb11', algorithm: { type: 'round_robin' }, location: 'fsn1' };
      const { durationMs } = fake.actions;
      fake.actions.durationMs = 0;
      const call = { method: 'POST', path: '/v1/load_balancers', query: new URLSearchParams(), body };
      fake.answer({ ...call, authorization: `Bearer ${token}` });
      fake.actions.durationMs = durationMs;
      Object.assign(harness.balancer(name), more);
      // It was always there.
      history.length = 0;
      remember();
      return harness.balancer(name);
    },
    addClassic: (more = {}) =>
      harness.addBalancer(classicName, {
        labels: { 'hcloud-ccm/service-uid': owner.service },
        services: harness.desired().ports.map(({ port, nodePort }) => ({
          protocol: 'tcp',
          listen_port: port,
          destination_port: nodePort,
          proxyprotocol: false,
          http: undefined,
          health_check: { protocol: 'tcp', port: nodePort, interval: 15, timeout: 10, retries: 3 },
        })),
        targets: members.map(({ providerID }) => ({
          type: 'server',
          server: { id: Number(providerID.slice('hcloud://'.length)) },
          use_private_ip: false,
        })),
        ...more,
      }),
  };
  return harness;
}

/** Our labels of a Service. */
export function labelsFor(service = owner.service, name = 'shop/web', of = cluster): Json {
  return marked({}, { owner: { cluster: of, service }, service: name });
}
