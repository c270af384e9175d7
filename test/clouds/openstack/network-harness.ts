import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { type FakeClock, fakeClock } from '../../../common/testing/fake-clock.ts';
import type { DesireInput } from '../../../controller/clouds/load-balancer-driver.ts';
import type { DesiredLoadBalancer } from '../../../controller/clouds/load-balancers.ts';
import { createClient } from '../../../controller/clouds/openstack/client.ts';
import { featuresOf } from '../../../controller/clouds/openstack/load-balancers/features.ts';
import { octaviaTags, tag } from '../../../controller/clouds/openstack/load-balancers/tags.ts';
import {
  type AddressContext,
  type AddressDesire,
  desireAddress,
  type Vip,
} from '../../../controller/clouds/openstack/network/desire-address.ts';
import { desireGroup, type GroupContext } from '../../../controller/clouds/openstack/network/desire-group.ts';
import { networkKinds, vipPortName } from '../../../controller/clouds/openstack/network/network-kinds.ts';
import {
  adoptedNetworkKey,
  createNetworkResources,
} from '../../../controller/clouds/openstack/network/network-resources.ts';
import { createRateLimiters } from '../../../controller/clouds/openstack/rate-limiters.ts';
import type { Driver } from '../../../controller/engine/driver.ts';
import { createEngine, type Engine } from '../../../controller/engine/engine.ts';
import type { JournalState } from '../../../controller/engine/journal.ts';
import type { Request, Result } from '../../../controller/engine/request.ts';
import type { Desire, Found, Kind, Owner, Reader, Want } from '../../../controller/engine/resource.ts';
import { queriesOf } from '../../../controller/services/balancers/service-engines.ts';
import { desiredFor } from '../suite/desired.ts';
import { addFloatingIps, type FakeEdge } from './fake/fake-floating-ips.ts';
import { createFakeOpenStack, fakeHttp, password } from './fake/fake-openstack.ts';
import type { FakeOpenStack } from './fake/openstack-state.ts';

type Settings = AddressContext['settings'] & GroupContext['settings'];

/** A load balancer, as far as Neutron sees it. */
export interface StubBalancer extends Vip {
  owner: Owner | undefined;
  isRetained?: boolean;
  /** Other Services have parts in it. */
  isShared: boolean;
}

/** What one Service has in a fake Neutron, beside a load balancer that is only stood in for. */
export interface NetworkHarness {
  readonly fake: FakeOpenStack;
  readonly edge: FakeEdge;
  readonly balancers: Map<string, StubBalancer>;
  desired: DesiredLoadBalancer;
  settings: Settings;
  readonly config: { manageSecurityGroups: boolean };
  readonly clock: FakeClock;
  /** A new process brings it about; `fields` stay for what follows. */
  ensure(fields?: Partial<DesiredLoadBalancer>, settings?: Partial<Settings>): Promise<Result>;
  remove(more?: Partial<Request<DesireInput>>): Promise<Result>;
  /** What was last desired of the address. */
  readonly address: AddressDesire | undefined;
  /** Since the last time that this was asked, without those of tokens and lists of networks. */
  calls(): readonly string[];
  /** The same, those alone that change something. */
  changes(): readonly string[];
  restart(): void;
}

const cluster = 'c1';
const networkId = 'net-1';
export const subnetId = 'subnet-1';

export function networkHarness(manageSecurityGroups = false, layer4 = false): NetworkHarness {
  const fake = createFakeOpenStack();
  fake.networks.set(networkId, 'k8s-net').set('net-public', 'public');
  fake.externalNetworks.add('net-public');
  fake.subnets.push({ id: subnetId, networkId, cidr: '10.20.0.0/16', name: 'k8s' });
  fake.subnets.push({ id: 'subnet-public', networkId: 'net-public', cidr: '203.0.113.0/24', name: 'public' });
  const vms = [1, 2].map((n) => {
    const addresses = [`10.20.0.${n}`];
    fake.ports.push({ id: `port-${n}`, deviceId: `server-${n}`, networkId, subnetId, ips: addresses, revision: 1 });
    return { name: `node-${n}`, providerID: `openstack:///server-${n}`, addresses, zone: 'nova' };
  });
  const edge = addFloatingIps(fake);
  const clock = fakeClock();
  const client = createClient({
    http: fakeHttp(fake),
    clock,
    rateLimiters: createRateLimiters({ clock, random: () => 0.5 }),
    onCall: () => {},
    authUrl: `${fake.authUrl}/v3`,
    credential: { method: 'password', user: { id: 'u1' }, password, scope: { project: { id: 'p1' } } },
    interface: 'public',
    region: undefined,
    timeoutMs: 60_000,
    mutationTimeoutMs: 10_000,
  });
  const balancers = new Map<string, StubBalancer>();
  const config = { manageSecurityGroups };
  const features = featuresOf(undefined, layer4 ? 'ovn' : 'amphora');
  const owner = { cluster, service: randomUUID() };
  const stored = new Map<string, JournalState>();
  let engine: Engine<DesireInput>;
  let last: AddressDesire | undefined;
  let from = 0;

  const shown = (one: StubBalancer): Found[] => {
    const whose = one.owner === undefined ? {} : { owner: one.owner };
    const kept = one.isRetained ? { retained: true } : {};
    const vip = { kind: networkKinds.vipPort, id: one.vipPortId, key: 'main', within: one.id, body: one } as const;
    const guest = { ...vip, kind: 'guest', id: `guest of ${one.id}`, owner: { cluster, service: 'other' } };
    return [
      { kind: 'load balancer', id: one.id, key: 'main', status: 'ready', body: one, ...whose, ...kept },
      { ...vip, status: 'ready', ...whose },
      ...(one.isShared ? [{ ...guest, status: 'ready' } as const] : []),
    ];
  };
  const all = () => [...balancers.values()].flatMap(shown);
  const reader: Reader = {
    kinds: ['load balancer', networkKinds.vipPort, 'guest'],
    all: async () => all(),
    of: async () => ({ found: all(), isFresh: true }),
  };
  const kinds: Kind[] = [
    {
      kind: 'load balancer',
      retryCreate: 'atOnce',
      compare({ body }, spec) {
        const isVip = (body as Vip).tags.length > 0;
        return spec === undefined || spec === isVip
          ? { same: true }
          : { changes: [{ what: 'vip', summary: 'vip', phase: 'set', body: spec }] };
      },
      async create({ spec }) {
        const id = randomUUID();
        const port = { id: randomUUID(), deviceId: `lb-${id}`, deviceOwner: 'Octavia', networkId, subnetId };
        fake.ports.push({ ...port, ips: [`10.20.9.${balancers.size + 1}`] });
        const made: StubBalancer = {
          id,
          name: 'web',
          vipAddress: `10.20.9.${balancers.size + 1}`,
          vipPortId: port.id,
          isShared: false,
          owner,
          tags: spec === true ? [tag(octaviaTags.address, 'vip')] : [],
        };
        balancers.set(id, made);
        return { id, found: shown(made) };
      },
      async update({ id }, { body }) {
        const tags = body === true ? [tag(octaviaTags.address, 'vip')] : [];
        balancers.set(id, { ...balancers.get(id)!, tags });
        return { found: shown(balancers.get(id)!) };
      },
      async remove({ id }) {
        const port = balancers.get(id)?.vipPortId;
        balancers.delete(id);
        fake.ports.splice(
          fake.ports.findIndex((one) => one.id === port),
          1,
        );
        return {};
      },
      async mark({ id }, as) {
        Object.assign(balancers.get(id)!, { owner: as === 'ours' ? owner : undefined, isRetained: as === 'retained' });
        return { found: shown(balancers.get(id)!) };
      },
    },
    {
      kind: networkKinds.vipPort,
      within: 'load balancer',
      inline: true,
      retryCreate: 'atOnce',
      compare: () => ({ same: true }),
    },
    { kind: 'guest', within: 'load balancer', retryCreate: 'atOnce', compare: () => ({ same: true }) },
  ];

  function start(): Engine<DesireInput> {
    const vipPorts = async () => [...balancers.values()].map(({ vipPortId }) => vipPortId);
    const network = createNetworkResources({ client, config, clock, vipPorts });
    const driver: Driver<DesireInput> = {
      kinds: [...kinds, ...network.kinds],
      readers: [network.join(reader)],
      poll: async () => new Map(),
      desire(input): Desire {
        const { settings } = harness;
        const own = input.own().find(({ kind }) => kind === 'load balancer') as Found<StubBalancer> | undefined;
        const facts = network.facts();
        last = desireAddress({ input, settings, facts, own });
        const main: Want = { kind: 'load balancer', key: 'main', spec: last.vip, summary: 'load balancer' };
        const vip: Want = {
          kind: networkKinds.vipPort,
          key: 'main',
          within: 'load balancer/main',
          spec: undefined,
          summary: vipPortName,
        };
        const groups = desireGroup({
          input,
          ports: input.desired.ports,
          mayClose: true,
          settings,
          features,
          config,
          facts,
          vipSubnetId: subnetId,
          serverIdOf: (providerID) => providerID.slice('openstack:///'.length),
        });
        return {
          wants: [...(last.mayMake ? [main, vip, ...last.wants] : []), ...groups],
          refusals: last.refusals,
        };
      },
    };
    const made = createEngine({
      driver,
      cluster,
      clock,
      permit: () => () => {},
      allServicesDeclared: () => true,
      saveJournal: async ({ service }, state) => void stored.set(service, state),
    });
    for (const [service, state] of stored) made.replaceJournal({ cluster, service }, state);
    return made;
  }

  async function settle(desired: DesireInput | undefined, more: Partial<Request<DesireInput>> = {}): Promise<Result> {
    const { mayChangeAddress } = harness.desired;
    let result: Result | undefined;
    for (let tries = 0; tries < 20; tries += 1) {
      result = await drive(engine.reconcile({ owner, desired, mayChangeAddress, ...more }));
      if (result.state === 'settled' || result.state === 'refused') return result;
      await clock.advance(result.againInMs ?? 1000);
    }
    return assert.fail(`it does not settle: ${JSON.stringify({ ...result, found: [] }, null, 1)}`);
  }

  async function drive<T>(work: Promise<T>): Promise<T> {
    let isOver = false;
    const end = () => {
      isOver = true;
    };
    work.then(end, end);
    while (!isOver) await clock.advance(100);
    return work;
  }

  const foundOf: DesireInput['found'] = (kind) => engine.found.ofKind(kind);

  function input(): DesireInput {
    const own: DesireInput['own'] = () => {
      const { near, isOurs } = engine.match(owner, adopts);
      return near.filter(isOurs);
    };
    return { ...queriesOf(engine.found), desired: harness.desired, own };
  }
  const adopts: Request<DesireInput>['adopts'] = (found) => {
    const { service, clusterName } = harness.desired;
    if (found.kind === 'load balancer') return (found.body as StubBalancer).name === 'classic' ? 'main' : undefined;
    const addresses = [...edge.floatingIps.values()].map(({ address }) => address);
    const { name } = harness.desired;
    return adoptedNetworkKey(found, {
      owner,
      service,
      name,
      id: undefined,
      found: foundOf,
      proof: { clusterName, addresses },
    });
  };

  const harness: NetworkHarness = {
    fake,
    edge,
    balancers,
    clock,
    config,
    desired: desiredFor(owner, vms),
    settings: { family: 'IPv4', internal: false, keepFloatingIp: false, placement: {}, portId: '', monitor: 'none' },
    async ensure(fields = {}, settings = {}) {
      harness.desired = { ...harness.desired, ...fields };
      harness.settings = { ...harness.settings, ...settings };
      engine = start();
      return settle(input(), { adopts });
    },
    async remove(more) {
      engine = start();
      return settle(undefined, { adopts, ...more });
    },
    get address() {
      return last;
    },
    calls() {
      const some = fake.calls.slice(from).filter(({ service }) => service === 'network');
      from = fake.calls.length;
      const texts = some.map(
        ({ method, path }) => `${method} ${path.replaceAll(/\/[0-9a-f]{8}-[0-9a-f-]{27}/g, '/ID')}`,
      );
      return texts.filter((text) => text !== 'GET /networks' && text !== 'GET /subnets');
    },
    changes: () => harness.calls().filter((call) => !call.startsWith('GET')),
    restart() {
      engine = start();
    },
  };
  engine = start();
  return harness;
}
