import { annotations, labels } from '../../../common/well-known.ts';
import { ownerTags } from '../../../controller/clouds/load-balancers.ts';
import { quotaKinds } from '../../kit/cloud/quotas.ts';
import type { Dice } from '../engine/dice.ts';
import { endpoint } from '../engine/process.ts';
import { clusterUid, serviceUidOf } from '../judge/network-truth.ts';
import { nodeOf } from '../judge/node-object.ts';
import { serviceOf } from '../judge/service-object.ts';
import type { Cluster } from './cluster.ts';
import type { Truth } from './truth.ts';

export interface Services {
  create(name: string): string;
  /**
   * A person's change of a Service, or a foreign change of the cloud's load balancers and routes. Returns a text for
   * the trace.
   */
  act(): string;
  /** Does what makes the controller call that site, if Services have anything to do with it. */
  provoke(site: string): string | undefined;
  unpause(): void;
  /** One that has a load balancer goes, and its finalizer is taken off. */
  orphan(): string;
  /** Takes away what is in the way. */
  mend(): void;
  /** Uids of Services that were taken away without their finalizer: what they had may stay. */
  readonly stripped: ReadonlySet<string>;
  /** Load balancers that have to be there although their Services are gone: they asked for it. */
  readonly kept: ReadonlySet<string>;
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
  /** A foreign writer makes a route to the range of each Node that registers, before the controller does. */
  let grabbing = false;
  const grabbed: string[] = [];

  core.store.watch(core.store.collection('nodes'), ({ type, object }) => {
    const destination = nodeOf(object.value).podCIDR;
    const vm = cloud.model.list('demo', 'sim-1').find(({ power }) => power === 'running');
    if (!grabbing || type !== 'ADDED' || destination === '' || vm === undefined) return;
    const quota = cloud.network.quotas.limit('routes') !== undefined;
    if (quota || routes.store.inPlace(foreignPlace).some((route) => route.destination === destination)) return;
    const description = 'of others';
    grabbed.push(
      routes.create(foreignPlace, { destination, instanceId: vm.id, description, tags: {}, clientToken: undefined })
        .route.id,
    );
  });

  const kept = new Set<string>();
  /** A foreign one; Services of this cluster may use it. */
  let shared = '';
  makeForeign();

  const all = () =>
    [...collection.items.values()]
      .map(({ value }) => serviceOf(value))
      .filter(({ key }) => key.startsWith(`${namespace}/s`));
  const patch = (name: string, body: object) => cluster.ask('PATCH', `${path}/${name}`, body, merge);

  /** Things in the same account that are none of this cluster's. */
  function makeForeign(): void {
    for (const tags of [{}, { [ownerTags.cluster]: 'another-cluster', [ownerTags.service]: 'another-service' }]) {
      loadBalancers.create(foreignPlace, { ...blank, name: `foreign-${Object.keys(tags).length}`, tags });
    }
    const tags = { [ownerTags.consent]: `${ours}/${namespace}` };
    shared = loadBalancers.create(foreignPlace, { ...blank, name: 'shared', tags }).loadBalancer.id;
  }

  function ports() {
    return Array.from({ length: dice.whole(1, 2) }, (_, index) => ({
      name: `p${index}`,
      protocol: dice.pick(['TCP', 'TCP', 'UDP']),
      port: 80 + index * 100 + dice.whole(0, 3),
      targetPort: 8080,
    }));
  }

  function create(name: string, type = dice.chance(0.85) ? 'LoadBalancer' : 'ClusterIP', roll = dice.random()): string {
    const attach = type === 'LoadBalancer' && roll < 0.12 && name.includes('late');
    const scope = `${endpoint}/demo/${attach ? 'sim-1' : dice.pick(regions)}`;
    // One without consent, now and then.
    const host = roll < 0.02 ? loadBalancers.store.all().find(({ name }) => name === 'foreign-0')?.id : shared;
    cluster.ask('POST', path, {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: {
        name,
        namespace,
        annotations: {
          ...(regions.length > 1 ? { [annotations.cloud]: scope } : {}),
          ...(attach ? { [annotations.loadBalancerId]: host } : {}),
          ...(type === 'LoadBalancer' && roll > 0.88 ? { [annotations.loadBalancerRetain]: 'true' } : {}),
        },
      },
      spec: {
        type,
        ports: attach ? ownPorts() : ports(),
        selector: { app: name },
        ...(type === 'LoadBalancer' && dice.chance(0.3) ? { externalTrafficPolicy: 'Local' } : {}),
        ...(type === 'LoadBalancer' && !attach && dice.chance(0.15) ? { loadBalancerClass: 'example.com/other' } : {}),
        ...(dice.chance(0.2) ? { sessionAffinity: 'ClientIP' } : {}),
      },
    });
    return `creates Service ${name}`;
  }

  /** Several Services share one load balancer: each its own port. */
  function ownPorts() {
    counter += 1;
    return [{ name: 'p0', protocol: 'TCP', port: 5000 + counter, targetPort: 8080 }];
  }

  function remove(name: string, uid: string): string {
    const { retain, attachTo, wants } = serviceOf(collection.items.get(`${namespace}/${name}`)!.value);
    const own = loadBalancers.store.all().find((each) => serviceUidOf(each, ours) === uid && each.state !== 'deleting');
    if (retain && wants && attachTo === '' && own !== undefined) kept.add(own.id);
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
      patch(name, { spec: { ports: service.attachTo === '' ? ports() : ownPorts() } });
      return `changes the ports of Service ${name}`;
    }
    // What was given up once is not ours again.
    if (drawn < 0.45 && !service.retain) {
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

  /** Each of its ports leads elsewhere, or one joins or leaves. */
  function repoint(name: string, verb: string): string {
    const { ports: held } = serviceOf(collection.items.get(`${namespace}/${name}`)!.value);
    if (verb === 'PATCH') {
      patch(name, { spec: { loadBalancerSourceRanges: [`203.0.113.${dice.whole(0, 250)}/32`] } });
      return `changes the source ranges of Service ${name}`;
    }
    const kept = held.map(({ protocol, port }, index) => ({ name: `p${index}`, protocol, port, targetPort: 8080 }));
    counter += 1;
    const joins = verb === 'POST' ? kept.length < 4 : kept.length < 2;
    const next = { name: `p${kept.length}`, protocol: 'TCP', port: 1000 + counter, targetPort: 8080 };
    patch(name, { spec: { ports: joins ? [...kept, next] : kept.slice(0, 1) } });
    return `${joins ? 'adds a port to' : 'takes the ports but one off'} Service ${name}`;
  }

  function provoke(site: string): string | undefined {
    const [, verb = '', path = ''] = site.split(' ');
    const serving = all().filter(({ wants, paused, ingress }) => wants && !paused && ingress.length > 0);
    if (path.endsWith('/pools') || site === 'cloud DELETE load-balancers/*/pools/*') {
      const attached = serving.find(({ attachTo }) => attachTo === shared);
      counter += 1;
      if (attached === undefined) return create(`s-late-${counter}`, 'LoadBalancer', 0.1);
      return verb === 'DELETE' || all().length >= mostServices
        ? remove(attached.name, attached.uid)
        : create(`s-late-${counter}`, 'LoadBalancer', 0.1);
    }
    if (verb === 'PATCH' && /^(addresses|load-balancers)\/\*$/.test(path)) {
      const retained = serving.find(({ retain }) => retain);
      counter += 1;
      return retained === undefined
        ? create(`s-late-${counter}`, 'LoadBalancer', 0.9)
        : remove(retained.name, retained.uid);
    }
    const one = serving.length === 0 ? undefined : dice.pick(serving);
    if (path.includes('/listeners')) return one && repoint(one.name, verb);
    if (path.endsWith('/pools/*')) {
      if (one !== undefined) patch(one.name, { spec: { sessionAffinity: dice.pick(['ClientIP', 'None']) } });
      return one && `changes the session affinity of Service ${one.name}`;
    }
    if (site === 'cloud GET routes/*') grabbing = true;
    if (path.endsWith('/members')) return exclude();
    if (verb === 'DELETE' && /^(addresses|load-balancers)/.test(path)) {
      counter += 1;
      return serving.length > 1 ? remove(one!.name, one!.uid) : create(`s-late-${counter}`, 'LoadBalancer', 0.5);
    }
    if (verb === 'POST' && /^(addresses|load-balancers)/.test(path)) {
      counter += 1;
      return all().length < mostServices
        ? create(`s-late-${counter}`, 'LoadBalancer')
        : one && remove(one.name, one.uid);
    }
    if (site === 'kube get services' || site === 'kube patch events') {
      // Written on at the very moment at which the controller writes it.
      if (one === undefined) return undefined;
      repoint(one.name, 'POST');
      for (let ms = 20; ms < 400; ms += 20) clock.setTimer(ms, () => scribble(one.name));
      return `writes on Service ${one.name} again and again`;
    }
    return undefined;
  }

  function scribble(name: string): void {
    if (collection.items.get(`${namespace}/${name}`) === undefined) return;
    patch(name, { metadata: { annotations: { 'example.com/note': String(dice.whole(1, 1000)) } } });
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
    // Others have no room either.
    const full = quotaKinds.some((kind) => cloud.network.quotas.limit(kind) !== undefined);
    if (drawn < 0.35 && own.length > 0) {
      const { id } = dice.pick(own);
      kept.delete(id);
      loadBalancers.forget(id);
      return `load balancer ${id} vanishes`;
    }
    if (drawn < 0.7 && table.length > 0) {
      const { id, destination } = dice.pick(table);
      routes.delete(id);
      return `route ${id} to ${destination} vanishes`;
    }
    if (full) return 'nothing happens';
    const waiting = all().find(({ uid, wants }) => wants && !own.some((each) => serviceUidOf(each, ours) === uid));
    if (drawn < 0.85 && waiting !== undefined && inTheWay === undefined) {
      // The name that its load balancer is going to have, taken by a foreign one.
      const name = `a${waiting.uid.replaceAll('-', '')}`.slice(0, 32);
      inTheWay = loadBalancers.create(foreignPlace, { ...blank, name, tags: {} }).loadBalancer.id;
      return `creates a foreign load balancer of the name that Service ${waiting.name} needs`;
    }
    const vm = cloud.model.list('demo', 'sim-1').find(({ power }) => power === 'running');
    const destination = dice.chance(0.5) ? `10.${dice.whole(90, 99)}.0.0/16` : `10.244.${dice.whole(200, 250)}.0/24`;
    const taken = routes.store.inPlace(foreignPlace).some((route) => route.destination === destination);
    if (vm === undefined || taken) return 'nothing happens';
    const description = 'of others';
    routes.create(foreignPlace, { destination, instanceId: vm.id, description, tags: {}, clientToken: undefined });
    return `a foreign route to ${destination} is made`;
  }

  return {
    create,
    stripped,
    kept,
    provoke,
    act() {
      const services = all();
      const drawn = dice.random();
      if (drawn < 0.12) return inTheCloud();
      if (services.length === 0 || (drawn < 0.3 && services.length < mostServices)) {
        counter += 1;
        return create(`s-late-${counter}`);
      }
      const { name, uid, deleting, retain } = dice.pick(services);
      if (deleting) return 'nothing happens';
      if (drawn < 0.42) return remove(name, uid);
      if (drawn < 0.46 && !retain) return strip(name, uid);
      if (drawn < 0.56) return pause(name, uid);
      if (drawn < 0.64) return exclude();
      return change(name);
    },
    orphan() {
      const one = all().find(
        ({ wants, ingress, attachTo, retain }) => wants && ingress.length > 0 && attachTo === '' && !retain,
      );
      return one === undefined ? 'nothing happens' : strip(one.name, one.uid);
    },
    mend() {
      if (inTheWay !== undefined) loadBalancers.forget(inTheWay);
      inTheWay = undefined;
      grabbing = false;
      for (const id of grabbed.splice(0)) routes.delete(id);
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
