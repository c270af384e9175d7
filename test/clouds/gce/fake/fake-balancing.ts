import { isIP } from 'node:net';
import type { compute_v1 } from '@googleapis/compute';
import ipaddr from 'ipaddr.js';
import { type FakeCall, FakeRefusal, filtered, notFound, pageOf } from './fake-api.ts';
import type { FakeOperations } from './fake-operations.ts';

type Json = Record<string, unknown>;
type Rule = compute_v1.Schema$ForwardingRule;
type Service = compute_v1.Schema$BackendService;
type Pool = compute_v1.Schema$TargetPool;
type Address = compute_v1.Schema$Address;
type Group = compute_v1.Schema$InstanceGroup;
type Firewall = compute_v1.Schema$Firewall;

/** What load balancers consist of: forwarding rules, backends, health checks, firewall rules, groups, addresses. */
export interface FakeBalancing {
  /** By path below the project: `regions/us-central1/forwardingRules/a1`. */
  readonly resources: Map<string, Json>;
  /** Instances by path of their group. */
  readonly members: Map<string, Set<string>>;
  /** Subnets of the region by name. */
  readonly subnets: Map<string, { readonly stackType: string; readonly ipv6AccessType?: string }>;
  /** How many of a collection there may be. */
  readonly quotas: Map<string, number>;
  /** Undefined: none of these collections. */
  answer(call: FakeCall, scope: string, rest: readonly string[]): object | undefined;
  aggregatedGroups(call: FakeCall): object;
  /** Of the reserved address with that path or IP. */
  addressType(pathOrIp: string): string | undefined;
  /** An instance is gone. */
  dropInstance(path: string): void;
  /** As if by hand: at once, without a call. Answers the number of it. */
  put(path: string, wire: Json): string;
}

export interface FakeBalancingParts {
  readonly operations: FakeOperations;
  readonly project: string;
  readonly zones: readonly string[];
  nextId(): string;
  /** What links begin with. */
  api(): string;
  isInstance(path: string): boolean;
}

const regional = ['forwardingRules', 'backendServices', 'targetPools', 'healthChecks', 'addresses'];
const global = ['healthChecks', 'httpHealthChecks', 'firewalls'];
const listVerbs: Readonly<Record<string, readonly string[]>> = {
  targetPools: ['addInstance', 'removeInstance', 'addHealthCheck', 'removeHealthCheck'],
  forwardingRules: ['setLabels'],
  instanceGroups: ['addInstances', 'removeInstances'],
};
/** Fields that hold links, and so refer to other resources. */
const linkFields = ['backendService', 'target', 'network', 'subnetwork', 'zone', 'region'];
const linkLists = ['healthChecks', 'instances'];
const invalid = (message: string) => new FakeRefusal(400, 'invalid', message);
const pathOf = (link: string) => link.replace(/^.*?projects\/[^/]+\//, '').replace(/^\//, '');
const inUse = (path: string, by: string) =>
  new FakeRefusal(400, 'resourceInUseByAnotherResource', `The resource '${path}' is already being used by '${by}'`);

export function createBalancing(parts: FakeBalancingParts): FakeBalancing {
  const { operations, project, zones, nextId, api, isInstance } = parts;
  const resources = new Map<string, Json>();
  const members = new Map<string, Set<string>>();
  let [lastIp, version] = [0, 0];
  const whole = (path: string) => `projects/${project}/${path}`;
  const link = (to: string) => `${api()}/${/projects\/.*$/.exec(to)?.[0] ?? whole(pathOf(to))}`;
  const at = (path: string) => resources.get(path);
  const inCollection = (collection: string) => [...resources].filter(([path]) => path.split('/').at(-2) === collection);

  const fingerprint = () => {
    version += 1;
    return Buffer.from(`version ${version}`).toString('base64');
  };

  function withLinks(wire: Json): Json {
    const linked = { ...wire };
    for (const field of linkFields) if (typeof wire[field] === 'string') linked[field] = link(wire[field]);
    for (const field of linkLists) if (Array.isArray(wire[field])) linked[field] = (wire[field] as string[]).map(link);
    if (Array.isArray(wire['backends']))
      linked['backends'] = (wire['backends'] as Json[]).map((one) => ({
        balancingMode: 'CONNECTION',
        ...one,
        group: link(String(one['group'])),
      }));
    return linked;
  }

  /** What it refers to has to be there. */
  function assertTargets(wire: Json): void {
    const links = [wire['backendService'], wire['target'], ...((wire['healthChecks'] as string[]) ?? [])];
    const groups = ((wire['backends'] as Json[]) ?? []).map(({ group }) => group);
    for (const one of [...links, ...groups])
      if (typeof one === 'string' && at(pathOf(one)) === undefined) throw notFound(whole(pathOf(one)));
    for (const one of (wire['instances'] as string[]) ?? [])
      if (!isInstance(pathOf(one))) throw notFound(whole(pathOf(one)));
  }
  function assertRule(rule: Rule): void {
    const { IPProtocol: protocol = 'TCP', loadBalancingScheme: scheme = 'EXTERNAL', backendService } = rule;
    const ports = [rule.allPorts, (rule.ports ?? []).length > 0, rule.portRange].filter(Boolean);
    if (ports.length !== 1)
      throw invalid("Invalid value for field 'resource.ports': expected ports, allPorts or portRange.");
    if ((rule.ports ?? []).length > 5) throw invalid("Invalid value for field 'resource.ports': at most 5.");
    if (rule.ipVersion === 'IPV6') assertIpv6(rule, scheme ?? '');
    if (!backendService) return;
    const service = at(pathOf(backendService)) as Service;
    const of = protocol === 'L3_DEFAULT' ? 'UNSPECIFIED' : protocol;
    if (service.loadBalancingScheme !== scheme || service.protocol !== of)
      throw invalid(`Invalid value for field 'resource.IPProtocol': '${protocol}'. Protocol or scheme does not match.`);
    if (protocol === 'L3_DEFAULT' && !rule.allPorts) throw invalid('L3_DEFAULT needs allPorts.');
  }
  function assertIpv6({ target, subnetwork, networkTier }: Rule, scheme: string): void {
    if (target) throw invalid('A target pool does not support IPV6.');
    const subnet = self.subnets.get(subnetwork?.split('/').at(-1) ?? '');
    if (subnet?.stackType !== 'IPV4_IPV6' || subnet.ipv6AccessType !== scheme)
      throw invalid(`Subnetwork ${subnetwork} must be dual stack with ${scheme} IPv6 access.`);
    if (networkTier === 'STANDARD') throw invalid('IPV6 needs network tier PREMIUM.');
  }
  function assertSubsetting({ subsetting, sessionAffinity = 'NONE' }: Service): void {
    if ((subsetting?.policy ?? 'NONE') !== 'NONE' && sessionAffinity !== 'NONE')
      throw invalid(`Subsetting does not support session affinity ${sessionAffinity}.`);
  }
  function ruleWith(ip: string): string | undefined {
    return inCollection('forwardingRules').find(([, wire]) => (wire as Rule).IPAddress === ip)?.[0];
  }
  const addressWith = (ip: string) =>
    inCollection('addresses').find(([, wire]) => (wire as Address).address === ip.replace(/\/96$/, ''));
  function freeIp(isInternal: boolean, isIpv6 = false): string {
    lastIp += 1;
    if (isIpv6) return `${isInternal ? 'fd20:0:0:1' : '2600:1900:4000:1'}:0:${(lastIp % 250) + 1}:0:0/96`;
    return `${isInternal ? '10.128.200' : '198.51.100'}.${(lastIp % 250) + 1}`;
  }
  function ruleIp({ IPAddress: given, loadBalancingScheme, networkTier = 'PREMIUM', ipVersion }: Rule): string {
    const isInternal = loadBalancingScheme === 'INTERNAL';
    const isIpv6 = ipVersion === 'IPV6';
    if (!given) return freeIp(isInternal, isIpv6);
    if (isIpv6 && !isInternal && !given.endsWith('/96')) throw invalid(`${given}: expected a range of 96 bits.`);
    const asked = isIpv6 ? wholeRange(given) : given;
    const named = isIP(asked) === 0 && !isIpv6 ? (at(pathOf(asked)) as Address | undefined)?.address : asked;
    if (!named) throw invalid(`Invalid value for field 'resource.IPAddress': '${asked}'.`);
    const taken = ruleWith(named);
    if (taken) throw inUse(named, whole(taken));
    const reserved = addressWith(named)?.[1] as Address | undefined;
    if (!isInternal && reserved === undefined)
      throw invalid(`Invalid value for field 'resource.IPAddress': '${named}'. Invalid IP address specified.`);
    if (!isInternal && reserved?.networkTier !== networkTier) throw invalid(`${named} is of another network tier.`);
    return named;
  }

  /** As a forwarding rule shows an address of IPv6. */
  function wholeRange(ip: string): string {
    return `${ipaddr.IPv6.parse(ip.replace(/\/96$/, '')).toNormalizedString()}/96`;
  }

  function made(path: string, wire: Json): Json {
    const collection = path.split('/').at(-2)!;
    const common = { kind: `compute#${collection}`, id: nextId(), selfLink: `${api()}/${whole(path)}` };
    const whole1 = { creationTimestamp: '2026-11-22T10:00:00.000-08:00', ...withLinks(wire), ...common };
    const [scope, name] = path.split('/');
    const place = scope === 'global' ? {} : { [scope!.slice(0, -1)]: `${api()}/${whole(`${scope}/${name}`)}` };
    return { ...whole1, ...place, ...defaultsOf(collection, wire) };
  }
  function defaultsOf(collection: string, wire: Json): Json {
    switch (collection) {
      case 'forwardingRules': {
        const {
          IPProtocol = 'TCP',
          loadBalancingScheme = 'EXTERNAL',
          networkTier = 'PREMIUM',
          portRange,
        } = wire as Rule;
        const range = portRange && !portRange.includes('-') ? `${portRange}-${portRange}` : portRange;
        const ip = { IPAddress: ruleIp(wire as Rule), ...(range && { portRange: range }) };
        const subnet =
          loadBalancingScheme === 'INTERNAL' && !wire['subnetwork']
            ? { subnetwork: link('regions/us-central1/subnetworks/default') }
            : {};
        return { ...ip, ...subnet, IPProtocol, loadBalancingScheme, networkTier, labelFingerprint: fingerprint() };
      }
      case 'addresses': {
        const {
          addressType = 'EXTERNAL',
          address: asked = freeIp(addressType === 'INTERNAL'),
          networkTier = 'PREMIUM',
          prefixLength,
        } = wire as Address;
        const given = asked ?? '';
        const isIpv6 = given.includes(':');
        if (isIpv6 && prefixLength !== 96) throw invalid("Invalid value for field 'resource.prefixLength'.");
        if (isIpv6 && addressType === 'EXTERNAL' && wire['subnetwork']) throw invalid('A subnetwork is not expected.');
        const address = isIpv6 ? wholeRange(given).replace('/96', '') : given;
        return { addressType, address, networkTier, status: 'RESERVED' };
      }
      case 'backendServices':
        assertSubsetting(wire as Service);
        return { sessionAffinity: 'NONE', ...pick(wire, ['sessionAffinity']), fingerprint: fingerprint() };
      case 'targetPools':
        return { sessionAffinity: 'NONE', ...pick(wire, ['sessionAffinity']) };
      case 'instanceGroups':
        return { size: 0, fingerprint: fingerprint() };
      case 'firewalls':
        return { priority: 1000, direction: 'INGRESS', ...pick(wire, ['priority']) };
      default:
        return {};
    }
  }

  function insert(collection: string, wire: Json): object {
    const name = String(wire['name'] ?? '');
    if (!/^[a-z]([-a-z0-9]{0,61}[a-z0-9])?$/.test(name))
      throw invalid(`Invalid value for field 'resource.name': '${name}'.`);
    const path = `${collection}/${name}`;
    const of = collection.split('/').at(-1)!;
    if (at(path) !== undefined || operations.isPending(whole(path)))
      throw new FakeRefusal(409, 'alreadyExists', `The resource '${whole(path)}' already exists`);
    if (inCollection(of).length >= (self.quotas.get(of) ?? 500))
      throw new FakeRefusal(
        403,
        'quotaExceeded',
        `Quota '${of.toUpperCase()}' exceeded.  Limit: ${self.quotas.get(of)}.0`,
      );
    assertTargets(wire);
    if (of === 'forwardingRules') assertRule(wire as Rule);
    if (of === 'targetPools' && ((wire as Pool).instances ?? []).length > 200) throw invalid('At most 200 instances.');
    if (of === 'addresses' && wire['address'] && addressWith(String(wire['address'])))
      throw invalid(
        `Invalid value for field 'resource.address': '${wire['address']}'. Specified IP address is already reserved.`,
      );
    if (of === 'firewalls' && (wire as Firewall).network === undefined) throw invalid("Required field 'network'.");
    // What can be refused is refused at once.
    const shown = made(path, wire);
    return operations.start(
      'insert',
      whole(path),
      () => {
        resources.set(path, shown);
        if (of === 'instanceGroups') members.set(path, new Set());
      },
      String(shown['id']),
    );
  }

  function assertUnused(path: string): void {
    for (const [other, wire] of resources) {
      const links = [wire['backendService'], wire['target'], ...((wire['healthChecks'] as string[]) ?? [])];
      const groups = ((wire['backends'] as Json[]) ?? []).map(({ group }) => group);
      if ([...links, ...groups].some((one) => typeof one === 'string' && pathOf(one) === path))
        throw inUse(whole(path), whole(other));
    }
  }

  function write(path: string, change: Json, isWhole: boolean): object {
    const wire = at(path)!;
    const collection = path.split('/').at(-2)!;
    if (collection === 'backendServices' && change['fingerprint'] !== wire['fingerprint'])
      throw new FakeRefusal(412, 'conditionNotMet', "Invalid fingerprint: it does not match the resource's.");
    const user = inCollection('forwardingRules').find(
      ([, rule]) => pathOf(String(rule['backendService'] ?? '')) === path,
    );
    if (user && change['protocol'] !== undefined && change['protocol'] !== wire['protocol'])
      throw invalid(`The protocol of a backend service that ${user[0]} uses cannot be changed.`);
    if (collection === 'forwardingRules' && Object.keys(change).some((field) => field !== 'allowGlobalAccess'))
      throw invalid(`A forwarding rule cannot be changed so: ${Object.keys(change).join()}`);
    if (['targetPools', 'addresses', 'instanceGroups'].includes(collection)) throw invalid('It cannot be changed.');
    assertTargets(change);
    if (collection === 'backendServices') assertSubsetting({ ...(wire as Service), ...(change as Service) });
    return operations.start('patch', whole(path), () => {
      const kept = isWhole
        ? pick(wire, ['id', 'name', 'selfLink', 'kind', 'region', 'network', 'creationTimestamp'])
        : at(path)!;
      const next = { ...kept, ...withLinks(change) };
      resources.set(path, collection === 'backendServices' ? { ...next, fingerprint: fingerprint() } : next);
    });
  }

  function act(path: string, verb: string, body: Json): object {
    const wire = at(path)!;
    const paths = ((body['instances'] ?? []) as Json[]).map(({ instance }) => pathOf(String(instance)));
    for (const one of paths) if (!verb.startsWith('remove') && !isInstance(one)) throw notFound(whole(one));
    const start = (effect: () => void) => operations.start(verb, whole(path), effect);
    const group = members.get(path);
    switch (verb) {
      case 'setLabels':
        if (body['labelFingerprint'] !== wire['labelFingerprint'])
          throw new FakeRefusal(
            412,
            'conditionNotMet',
            'Labels fingerprint either invalid or resource labels have changed',
          );
        return start(() => resources.set(path, { ...wire, labels: body['labels'], labelFingerprint: fingerprint() }));
      case 'addInstances':
        for (const one of paths) {
          if (group!.has(one))
            throw new FakeRefusal(400, 'memberAlreadyExists', `${one} is already a member of ${path}.`);
        }
        return start(() => {
          for (const one of paths) group!.add(one);
        });
      case 'removeInstances':
        for (const one of paths) if (!group!.has(one)) throw invalid(`${one} is not a member of ${path}.`);
        return start(() => {
          for (const one of paths) group!.delete(one);
        });
      case 'addInstance':
      case 'removeInstance': {
        const rest = ((wire as Pool).instances ?? []).filter((one) => !paths.includes(pathOf(one)));
        const added = verb === 'addInstance' ? paths.map(link) : [];
        return start(() => resources.set(path, { ...wire, instances: [...rest, ...added] }));
      }
      default: {
        const checks = ((body['healthChecks'] ?? []) as Json[]).map(({ healthCheck }) => pathOf(String(healthCheck)));
        for (const one of checks) if (at(one) === undefined) throw notFound(whole(one));
        const rest = ((wire as Pool).healthChecks ?? []).filter((one) => !checks.includes(pathOf(one)));
        const next = [...rest, ...(verb === 'addHealthCheck' ? checks.map(link) : [])];
        if (next.length > 1) throw invalid('A target pool has at most one health check.');
        return start(() => resources.set(path, { ...wire, healthChecks: next }));
      }
    }
  }

  function shownGroup([path, wire]: readonly [string, Json]): Json {
    return path.includes('/instanceGroups/') ? { ...wire, size: members.get(path)!.size } : wire;
  }

  const self: FakeBalancing = {
    resources,
    members,
    quotas: new Map(),
    subnets: new Map([['default', { stackType: 'IPV4_ONLY' }]]),
    answer({ method, query, text }, scope, [collection = '', name, verb]) {
      if (collection === 'subnetworks' && name === undefined) {
        const items = [...self.subnets].map(([one, subnet]) => ({
          ...made(`${scope}/subnetworks/${one}`, {}),
          ...subnet,
          name: one,
        }));
        return { items };
      }
      const known = scope === 'global' ? global : scope.startsWith('regions/') ? regional : ['instanceGroups'];
      if (!known.includes(collection)) return undefined;
      const body = () => JSON.parse(text) as Json;
      if (name === undefined && method === 'POST') return insert(`${scope}/${collection}`, body());
      if (name === undefined) {
        const all = [...resources].filter(([path]) => path.startsWith(`${scope}/${collection}/`)).map(shownGroup);
        const page = pageOf(filtered(all, query.get('filter')), query);
        return { ...(page.items.length > 0 && { items: page.items }), ...page.next };
      }
      const path = `${scope}/${collection}/${name}`;
      const wire = at(path);
      if (wire === undefined) throw notFound(whole(path));
      if (verb === 'listInstances') {
        const all = [...members.get(path)!].map((one) => ({ instance: link(one), status: 'RUNNING' }));
        const page = pageOf(all, query);
        return { ...(page.items.length > 0 && { items: page.items }), ...page.next };
      }
      if (verb !== undefined) {
        if (!listVerbs[collection]?.includes(verb)) throw notFound(`${whole(path)}/${verb}`);
        return act(path, verb, body());
      }
      if (method === 'PATCH' || method === 'PUT') return write(path, body(), method === 'PUT');
      if (method !== 'DELETE') return shownGroup([path, wire]);
      assertUnused(path);
      return operations.start('delete', whole(path), () => {
        resources.delete(path);
        members.delete(path);
      });
    },
    aggregatedGroups({ query }) {
      const all = inCollection('instanceGroups').map(shownGroup) as Group[];
      const page = pageOf(filtered(all, query.get('filter')), query);
      const items = zones.map((zone) => {
        const instanceGroups = page.items.filter((group) => group.zone?.endsWith(`/${zone}`));
        const warning = { code: 'NO_RESULTS_ON_PAGE', message: `There are no results for scope 'zones/${zone}'.` };
        return [`zones/${zone}`, instanceGroups.length > 0 ? { instanceGroups } : { warning }] as const;
      });
      return { items: Object.fromEntries(items), ...page.next };
    },
    addressType: (pathOrIp) =>
      ((at(pathOrIp) ?? addressWith(pathOrIp)?.[1]) as Address | undefined)?.addressType ?? undefined,
    dropInstance(path) {
      for (const set of members.values()) set.delete(path);
    },
    put(path, wire) {
      const shown = made(path, { name: path.split('/').at(-1), ...wire });
      resources.set(path, shown);
      if (path.includes('/instanceGroups/')) members.set(path, new Set());
      return String(shown['id']);
    },
  };
  return self;
}

function pick(wire: Json, fields: readonly string[]): Json {
  return Object.fromEntries(fields.flatMap((field) => (wire[field] === undefined ? [] : [[field, wire[field]]])));
}
