import type { DesiredLoadBalancer } from '../../../controller/clouds/load-balancers.ts';
import type { CloudWorld } from '../suite/world.ts';
import type { FakeBalancing } from './fake/fake-balancing.ts';
import type { RunningMock } from './start-mock.ts';

/** What the suite sees and does of load balancers from behind. */
export type BalancingBehind = Pick<
  CloudWorld,
  | 'inventory'
  | 'createForeignLoadBalancer'
  | 'describeLoadBalancer'
  | 'deleteLoadBalancer'
  | 'stripMarks'
  | 'markAsClassic'
>;

export type Mode = 'target pools' | 'internal load balancers' | 'backend services' | 'dual stack';

/** What Services ask for in each: a cloud of its own to the suite. */
export const modes: Readonly<Record<Mode, Pick<DesiredLoadBalancer, 'annotations'> & Partial<DesiredLoadBalancer>>> = {
  'target pools': { annotations: {} },
  'internal load balancers': { annotations: { 'networking.gke.io/load-balancer-type': 'Internal' } },
  'backend services': { annotations: { 'cloud.google.com/l4-rbs': 'enabled' } },
  'dual stack': {
    annotations: {},
    loadBalancerClass: 'networking.gke.io/l4-regional-external',
    families: ['IPv4', 'IPv6'],
  },
};

const region = 'regions/us-central1';

type Wire = Readonly<Record<string, unknown>>;

/** The resources as one world keeps them, by paths below the project. */
export interface Behind {
  all(): Promise<readonly (readonly [path: string, wire: Wire])[]>;
  /** Instances by path of their group. */
  members(): Promise<readonly (readonly [path: string, instances: Iterable<string>])[]>;
  /** Answers the number of what it makes. */
  put(path: string, wire: Wire): Promise<string>;
  drop(path: string): Promise<void>;
  /** Another description, and no labels. */
  describe(path: string, description: string): Promise<void>;
}

/** Load balancers are known by the number of their backend. */
export function balancingOf(behind: Behind, mode: Mode): BalancingBehind {
  const isPool = mode === 'target pools';
  const backend = (name: string) => `${region}/${isPool ? 'targetPools' : 'backendServices'}/${name}`;
  async function nameOf(id: string) {
    const found = (await behind.all()).find(([path, wire]) => wire['id'] === id && path === backend(`${wire['name']}`));
    return found?.[1]['name'];
  }
  async function ofName(name: unknown) {
    return name === undefined ? [] : (await behind.all()).filter(([path]) => path.includes(String(name)));
  }
  const front = (path: string) => /forwardingRules|backendServices|targetPools/.test(path);

  return {
    async inventory() {
      const all = (await behind.all()).map(([kind, { name, ports, portRange, allPorts, allowed }]) => ({
        kind,
        name: `${name} ${JSON.stringify([ports, portRange, allPorts, allowed])}`,
      }));
      const inGroups = (await behind.members()).flatMap(([name, set]) =>
        [...set].map((one) => ({ kind: `in ${name}`, name: one })),
      );
      return [...all, ...inGroups];
    },
    async createForeignLoadBalancer(name) {
      const scheme = { loadBalancingScheme: mode === 'internal load balancers' ? 'INTERNAL' : 'EXTERNAL' };
      const id = await behind.put(backend(name), isPool ? {} : { ...scheme, protocol: 'TCP' });
      const target = isPool ? { target: backend(name) } : { backendService: backend(name) };
      await behind.put(`${region}/forwardingRules/${name}`, { ...scheme, ...target, portRange: '81-81' });
      return id;
    },
    async describeLoadBalancer(id) {
      // Google's mock lists in no order.
      const all = (await ofName(await nameOf(id))).toSorted(([a], [b]) => (a < b ? -1 : 1));
      return all.length === 0 ? undefined : JSON.stringify(all.filter(([path]) => front(path)));
    },
    async deleteLoadBalancer(id) {
      for (const [path] of await ofName(await nameOf(id))) await behind.drop(path);
    },
    async stripMarks({ body }) {
      const { path } = body as { readonly path: string };
      // Other descriptions cannot be changed.
      if (!/backendServices|ealthChecks|firewalls/.test(path)) return false;
      await behind.describe(path, '');
      return true;
    },
    async markAsClassic({ id }, { service, name: own }) {
      for (const [path, { name }] of await ofName(await nameOf(id))) {
        const isCheck = path.includes('/firewalls/') && /-hc(-ipv6)?$/.test(String(name));
        const of = path.includes('/httpHealthChecks/') ? own : service;
        await behind.describe(path, isCheck ? '' : JSON.stringify({ 'kubernetes.io/service-name': of }));
      }
    },
  };
}

export function behindFake({ resources, members, put }: FakeBalancing): Behind {
  return {
    all: async () => [...resources],
    members: async () => [...members],
    put: async (path, wire) => put(path, wire),
    drop: async (path) => void resources.delete(path),
    async describe(path, description) {
      const { labels: _, ...wire } = resources.get(path)!;
      resources.set(path, { ...wire, description });
    },
  };
}

const groupZones = ['us-central1-a', 'us-central1-b'];
const collections = [
  ...['forwardingRules', 'backendServices', 'targetPools', 'healthChecks', 'addresses'].map(
    (one) => `${region}/${one}`,
  ),
  'global/healthChecks',
  'global/httpHealthChecks',
  'global/firewalls',
  ...groupZones.map((zone) => `zones/${zone}/instanceGroups`),
];

/** On Google's mock: what a person would do through the API. */
export function behindMock({ send }: RunningMock): Behind {
  const pathOf = (link: string) => link.replace(/^.*?projects\/[^/]+\//, '');
  const list = async (collection: string) => {
    const { items } = (await send('GET', collection)) as { readonly items: readonly Wire[] | null };
    return (items ?? []).map((wire) => [`${collection}/${wire['name']}`, wire] as const);
  };
  const self: Behind = {
    all: async () => (await Promise.all(collections.map(list))).flat(),
    async members() {
      const groups = await Promise.all(groupZones.map((zone) => list(`zones/${zone}/instanceGroups`)));
      const read = groups.flat().map(async ([path]) => {
        const answer = await send('POST', `${path}/listInstances`, { instanceState: 'ALL' });
        const { items } = answer as { readonly items: readonly { readonly instance: string }[] | null };
        return [path, (items ?? []).map(({ instance }) => pathOf(instance))] as const;
      });
      return Promise.all(read);
    },
    async put(path, wire) {
      const [, collection, name] = /^(.*)\/([^/]+)$/.exec(path)!;
      await send('POST', collection!, { name, ...wire });
      return String(((await send('GET', path)) as Wire)['id']);
    },
    drop: async (path) => void (await send('DELETE', path)),
    async describe(path, description) {
      await send('PATCH', path, { description, ...(path.includes('/forwardingRules/') && { labels: {} }) });
    },
  };
  return self;
}
