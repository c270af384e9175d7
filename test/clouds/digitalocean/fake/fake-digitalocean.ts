import type { Clock } from '../../../../common/process/clock.ts';
import { type FakeAnswer, type FakeCall, httpOf, type Json } from '../../fake-http.ts';
import type { FakeAccount } from './fake-account.ts';
import { FakeRefusal, notFound, pageOf } from './fake-api.ts';
import { answerBalancer, createBalancer, showBalancer } from './fake-balancers.ts';
import { type FakeDroplet, networksOf, showDroplet } from './fake-droplets.ts';

export const token = 'dop_v1_0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef';
export const region = 'nyc3';

export function createFakeDigitalOcean(clock: Clock): FakeAccount {
  let last = 3_164_444;

  function route(call: FakeCall): FakeAnswer {
    const { method, path, query } = call;
    const [, version, collection = '', id] = path.split('/');
    if (version !== 'v2') throw notFound();
    if (collection === 'load_balancers' && id !== undefined) return answerBalancer(fake, id, call);
    if (collection === 'load_balancers' && method === 'POST') return createBalancer(fake, call);
    if (method !== 'GET') throw new FakeRefusal(405, method);
    switch (collection) {
      case 'account':
        return { status: 200, body: { account: showAccount(fake.team) } };
      case 'load_balancers':
        return pageOf('load_balancers', [...fake.balancers.values()].map(fake.show), call);
      case 'certificates':
        return pageOf('certificates', [...fake.certificates].map(showCertificate), call);
      case 'vpcs':
        if (id !== fake.vpc) throw notFound();
        return { status: 200, body: { vpc: showVpc(fake.vpc) } };
      case 'droplets':
        if (id === undefined) return pageOf('droplets', dropletsFor(query), call);
        return { status: 200, body: { droplet: one(Number(id)) } };
      default:
        throw notFound();
    }
  }
  function one(id: number): Json {
    const droplet = fake.droplets.get(id);
    if (droplet === undefined) throw notFound();
    return showDroplet(droplet);
  }
  /** Newest first; those with a GPU in a list of their own. */
  function dropletsFor(query: URLSearchParams): Json[] {
    const name = query.get('name')?.toLowerCase();
    const all = [...fake.droplets.values()].toReversed();
    return all
      .filter(({ isGpu }) => isGpu === (query.get('type') === 'gpus'))
      .filter((each) => name === undefined || each.name.toLowerCase() === name)
      .map(showDroplet);
  }

  function answer(call: FakeCall): FakeAnswer {
    fake.calls.push(call);
    const headers = {
      'ratelimit-limit': '5000',
      'ratelimit-remaining': '4816',
      'ratelimit-reset': String(Math.ceil(clock.now() / 1000) + 600),
    };
    try {
      const instead = fake.fault?.(call);
      if (instead !== undefined) return instead;
      if (call.authorization !== `Bearer ${token}`) throw new FakeRefusal(401, 'Unable to authenticate you');
      if (fake.isReadOnly && call.method !== 'GET')
        throw new FakeRefusal(403, 'You are not authorized to perform this operation');
      return { ...route(call), headers };
    } catch (error) {
      if (!(error instanceof FakeRefusal)) throw error;
      return { ...error.answer, headers };
    }
  }

  const fake: FakeAccount = {
    calls: [],
    droplets: new Map(),
    balancers: new Map(),
    certificates: new Map(),
    fault: undefined,
    answer,
    vpc: '760e09ef-dc84-11e8-981e-3cfdfeaae000',
    team: '5df3e300-4a17-4242-b7c2-0ca6c9fc25b7',
    activeMs: 60_000,
    busyMs: 0,
    maxBalancers: 50,
    mayResize: true,
    isReadOnly: false,
    nextId: () => ++last,
    now: () => clock.now(),
    show: (balancer) => showBalancer(fake, balancer),
    addDroplet(name, more = {}) {
      const id = fake.nextId();
      const droplet: FakeDroplet = {
        id,
        name,
        status: 'active',
        region,
        isGpu: false,
        vpc: fake.vpc,
        size: 's-2vcpu-2gb',
        createdAt: new Date(clock.now()).toISOString(),
        networks: networksOf(id),
        ...more,
      };
      fake.droplets.set(id, droplet);
      return droplet;
    },
    http: httpOf(answer),
  };
  return fake;
}

function showAccount(team: string): Json {
  return {
    droplet_limit: 25,
    floating_ip_limit: 3,
    email: 'sammy@example.com',
    email_verified: true,
    status: 'active',
    uuid: 'b6fc48db-d6d9-4156-ace5-f3c78dc9851d',
    status_message: '',
    team: { uuid: team, name: 'My Team' },
  };
}

function showCertificate([id, name]: readonly [string, string]): Json {
  return {
    id,
    name,
    not_after: '2027-02-22T00:23:00Z',
    sha1_fingerprint: 'dfcc9f57d86bf58e321c2c6c31c7a971be244ac7',
    created_at: '2026-02-08T16:02:37Z',
    dns_names: ['www.example.com'],
    state: 'verified',
    type: 'lets_encrypt',
  };
}

function showVpc(id: string): Json {
  return {
    id,
    urn: `do:vpc:${id}`,
    name: 'env.prod-vpc',
    description: '',
    region,
    ip_range: '10.108.0.0/16',
    default: true,
    created_at: '2026-02-08T16:02:37Z',
  };
}
