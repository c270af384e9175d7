import { annotations, labels } from '../../../common/well-known.ts';
import type { Dice } from '../engine/dice.ts';
import { endpoint } from '../engine/process.ts';
import { clusterUid, serviceUidOf } from '../judge/network-truth.ts';
import { serviceOf } from '../judge/service-object.ts';
import type { Cluster } from './cluster.ts';
import type { Truth } from './truth.ts';

export interface Services {
  create(name: string): string;
  /** Something that a person does to Services, or somebody to the cloud's load balancers and routes; answers what, for the trace. */
  act(): string;
  unpause(): void;
  /** Takes away what is in the way. */
  mend(): void;
  /** Uids of Services that were taken away without their finalizer: what they had may stay. */
  readonly stripped: ReadonlySet<string>;
}

const namespace = 'default';
const path = `/api/v1/namespaces/${namespace}/services`;
const merge = 'application/merge-patch+json';
const foreignPlace = 'demo/sim-1';
const mostServices = 5;
const blank = {
  scheme: 'external',
  families: ['IPv4'],
  addresses: [],
  listeners: [],
  pools: [],
  clientToken: undefined,
} as const;

export function createServices(truth: Truth, cluster: Cluster, dice: Dice, regions: readonly string[]): Services {
  const { cloud, clock, core } = truth;
  const { loadBalancers, routes } = cloud.network;
  const ours = clusterUid(truth);
  const stripped = new Set<string>();
  const collection = core.store.collection('services');
  let counter = 0;
  let inTheWay: string | undefined;

  makeForeign();

  const all = () =>
    [...collection.items.values()]
      .map(({ value }) => serviceOf(value))
      .filter(({ key }) => key.startsWith(`${namespace}/s`));
  const patch = (name: string, body: object) => cluster.ask('PATCH', `${path}/${name}`, body, merge);

  /** Things in the same account that are none of this cluster's. */
  function makeForeign(): void {
    for (const tags of [
      {},
      { 'mooring.dev/cluster': 'another-cluster', 'mooring.dev/service-uid': 'another-service' },
    ]) {
      loadBalancers.create(foreignPlace, { ...blank, name: `foreign-${Object.keys(tags).length}`, tags });
    }
  }

  function ports() {
    return Array.from({ length: dice.whole(1, 2) }, (_, index) => ({
      name: `p${index}`,
      protocol: dice.pick(['TCP', 'TCP', 'UDP']),
      port: 80 + index * 100 + dice.whole(0, 3),
      targetPort: 8080,
    }));
  }

  function create(name: string): string {
    const type = dice.chance(0.85) ? 'LoadBalancer' : 'ClusterIP';
    const scope = `${endpoint}/demo/${dice.pick(regions)}`;
    cluster.ask('POST', path, {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: {
        name,
        namespace,
        ...(regions.length > 1 ? { annotations: { [annotations.cloud]: scope } } : {}),
      },
      spec: {
        type,
        ports: ports(),
        selector: { app: name },
        ...(type === 'LoadBalancer' && dice.chance(0.3) ? { externalTrafficPolicy: 'Local' } : {}),
        ...(type === 'LoadBalancer' && dice.chance(0.15) ? { loadBalancerClass: 'example.com/other' } : {}),
        ...(dice.chance(0.2) ? { sessionAffinity: 'ClientIP' } : {}),
      },
    });
    return `creates Service ${name}`;
  }

  function remove(name: string, uid: string): string {
    cluster.ask('DELETE', `${path}/${name}`);
    if (collection.items.get(`${namespace}/${name}`) === undefined) truth.pausedSince.delete(uid);
    return `deletes Service ${name}`;
  }

  function strip(name: string, uid: string): string {
    stripped.add(uid);
    patch(name, { metadata: { finalizers: null } });
    remove(name, uid);
    return `strips the finalizer off Service ${name} and deletes it`;
  }

  function change(name: string): string {
    const service = serviceOf(collection.items.get(`${namespace}/${name}`)!.value);
    const drawn = dice.random();
    if (drawn < 0.3) {
      patch(name, { spec: { ports: ports() } });
      return `changes the ports of Service ${name}`;
    }
    if (drawn < 0.45) {
      patch(name, {
        spec: {
          type: service.type === 'LoadBalancer' ? 'ClusterIP' : 'LoadBalancer',
          loadBalancerClass: null,
          externalTrafficPolicy: null,
        },
      });
      return `changes the type of Service ${name}`;
    }
    if (drawn < 0.6 && service.type === 'LoadBalancer') {
      patch(name, { spec: { loadBalancerSourceRanges: dice.chance(0.5) ? ['203.0.113.0/24'] : null } });
      return `changes the source ranges of Service ${name}`;
    }
    if (drawn < 0.75) {
      cluster.ask('PATCH', `${path}/${name}/status`, { status: { loadBalancer: {} } }, merge);
      return `wipes the status of Service ${name}`;
    }
    patch(name, { metadata: { annotations: { 'example.com/note': String(dice.whole(1, 1000)) } } });
    return `writes a note on Service ${name}`;
  }

  function pause(name: string, uid: string): string {
    const on = !truth.pausedSince.has(uid);
    patch(name, { metadata: { annotations: { [annotations.paused]: on ? 'true' : null } } });
    if (on) truth.pausedSince.set(uid, clock.monotonic());
    else truth.pausedSince.delete(uid);
    return `${on ? 'pauses' : 'unpauses'} Service ${name}`;
  }

  function inTheCloud(): string {
    const own = loadBalancers.store.all().filter((each) => serviceUidOf(each, ours) !== undefined);
    const table = routes.store.all().filter(({ tags }) => tags['mooring.dev/cluster'] === ours);
    const drawn = dice.random();
    if (drawn < 0.35 && own.length > 0) {
      const { id } = dice.pick(own);
      loadBalancers.forget(id);
      return `load balancer ${id} vanishes`;
    }
    if (drawn < 0.7 && table.length > 0) {
      const { id, destination } = dice.pick(table);
      routes.delete(id);
      return `route ${id} to ${destination} vanishes`;
    }
    const waiting = all().find(({ uid, wants }) => wants && !own.some((each) => serviceUidOf(each, ours) === uid));
    if (drawn < 0.85 && waiting !== undefined && inTheWay === undefined) {
      // The name that its load balancer is going to have, taken by somebody else.
      const name = `a${waiting.uid.replaceAll('-', '')}`.slice(0, 32);
      inTheWay = loadBalancers.create(foreignPlace, { ...blank, name, tags: {} }).loadBalancer.id;
      return `somebody makes a load balancer of the name that Service ${waiting.name} needs`;
    }
    const vm = cloud.model.list('demo', 'sim-1').find(({ power }) => power === 'running');
    const destination = dice.chance(0.5) ? `10.${dice.whole(90, 99)}.0.0/16` : `10.244.${dice.whole(200, 250)}.0/24`;
    const taken = routes.store.inPlace(foreignPlace).some((route) => route.destination === destination);
    if (vm === undefined || taken) return 'nothing happens';
    const description = 'of somebody else';
    routes.create(foreignPlace, { destination, instanceId: vm.id, description, tags: {}, clientToken: undefined });
    return `a foreign route to ${destination} is made`;
  }

  return {
    create,
    stripped,
    act() {
      const services = all();
      const drawn = dice.random();
      if (drawn < 0.12) return inTheCloud();
      if (services.length === 0 || (drawn < 0.3 && services.length < mostServices)) {
        counter += 1;
        return create(`s-late-${counter}`);
      }
      const { name, uid, deleting } = dice.pick(services);
      if (deleting) return 'nothing happens';
      if (drawn < 0.42) return remove(name, uid);
      if (drawn < 0.46) return strip(name, uid);
      if (drawn < 0.56) return pause(name, uid);
      if (drawn < 0.64) return exclude();
      return change(name);
    },
    mend() {
      if (inTheWay !== undefined) loadBalancers.forget(inTheWay);
      inTheWay = undefined;
    },
    unpause() {
      for (const { name, uid } of all()) if (truth.pausedSince.has(uid)) pause(name, uid);
    },
  };

  /** Or takes it in again. */
  function exclude(): string {
    const nodes = core.store.collection('nodes');
    if (nodes.items.size === 0) return 'nothing happens';
    const name = dice.pick([...nodes.items.keys()]);
    const key = labels.excludeFromLoadBalancers;
    const held = (nodes.items.get(name)!.value as { metadata: { labels?: Record<string, string> } }).metadata.labels;
    cluster.patchNode(name, { metadata: { labels: { [key]: held?.[key] === undefined ? '' : null } } });
    return `${held?.[key] === undefined ? 'excludes' : 'takes in'} Node ${name}`;
  }
}
