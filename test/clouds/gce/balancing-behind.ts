import type { CloudWorld } from '../suite/world.ts';
import type { FakeBalancing } from './fake/fake-balancing.ts';

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

/** What annotations make: each is a cloud of its own to the suite. */
export const modes = {
  'target pools': {},
  'internal load balancers': { 'networking.gke.io/load-balancer-type': 'Internal' },
  'backend services': { 'cloud.google.com/l4-rbs': 'enabled' },
} as const;
export type Mode = keyof typeof modes;

const region = 'regions/us-central1';

/** On the fake. Load balancers are known by the number of their backend. */
export function balancingOf({ resources, members, put }: FakeBalancing, mode: Mode): BalancingBehind {
  const isPool = mode === 'target pools';
  const backend = (name: string) => `${region}/${isPool ? 'targetPools' : 'backendServices'}/${name}`;
  const nameOf = (id: string) =>
    [...resources].find(([path, wire]) => wire['id'] === id && path === backend(String(wire['name'])))?.[1]['name'];
  const ofName = (name: unknown) => [...resources].filter(([path]) => path.includes(String(name)));
  const front = (path: string) => /forwardingRules|backendServices|targetPools/.test(path);
  const describe = (path: string, description: string) => {
    const { labels: _, ...wire } = resources.get(path)!;
    resources.set(path, { ...wire, description });
  };

  return {
    async inventory() {
      const all = [...resources].map(([kind, { name, ports, portRange, allPorts, allowed }]) => ({
        ...{ kind, name: `${name} ${JSON.stringify([ports, portRange, allPorts, allowed])}` },
      }));
      const inGroups = [...members].flatMap(([name, set]) =>
        [...set].map((one) => ({ kind: `in ${name}`, name: one })),
      );
      return [...all, ...inGroups];
    },
    async createForeignLoadBalancer(name) {
      const scheme = { loadBalancingScheme: mode === 'internal load balancers' ? 'INTERNAL' : 'EXTERNAL' };
      const id = put(backend(name), isPool ? {} : { ...scheme, protocol: 'TCP' });
      const target = isPool ? { target: backend(name) } : { backendService: backend(name) };
      put(`${region}/forwardingRules/${name}`, { ...scheme, ...target, portRange: '81-81' });
      return id;
    },
    async describeLoadBalancer(id) {
      const name = nameOf(id);
      return name === undefined ? undefined : JSON.stringify(ofName(name).filter(([path]) => front(path)));
    },
    async deleteLoadBalancer(id) {
      const name = nameOf(id);
      for (const [path] of name === undefined ? [] : ofName(name)) resources.delete(path);
    },
    async stripMarks({ body }) {
      const { path } = body as { readonly path: string };
      // Other descriptions cannot be changed.
      if (!/backendServices|ealthChecks|firewalls/.test(path)) return false;
      describe(path, '');
      return true;
    },
    async markAsClassic({ id }, { service, name: own }) {
      for (const [path, { name }] of ofName(nameOf(id))) {
        const isCheck = path.includes('/firewalls/') && String(name).endsWith('-hc');
        const of = path.includes('/httpHealthChecks/') ? own : service;
        describe(path, isCheck ? '' : JSON.stringify({ 'kubernetes.io/service-name': of }));
      }
    },
  };
}
