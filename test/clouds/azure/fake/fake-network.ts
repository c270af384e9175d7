import type { Clock } from '../../../../common/process/clock.ts';
import type { FakeAnswer, Json, ReceivedCall } from '../../fake-http.ts';
import { FakeRefusal } from './fake-api.ts';
import { etagOf, type FakeOperation, location, subscription } from './fake-state.ts';

type Type = 'loadBalancers' | 'publicIPAddresses' | 'networkSecurityGroups';

/** A load balancer, public address or security group. */
export interface FakeResource {
  readonly id: string;
  readonly name: string;
  readonly type: Type;
  version: number;
  /** As it was written: with properties, tags, sku. */
  body: Json;
  operation: FakeOperation | undefined;
  failed: boolean;
}

export interface FakeNetwork {
  /** By ids in lower case. */
  readonly resources: Map<string, FakeResource>;
  maxAddresses: number;
  maxRules: number;
  /** Undefined: it is not of these types. */
  answer(call: ReceivedCall, group: string, rest: readonly string[]): FakeAnswer | readonly Json[] | undefined;
  json(resource: FakeResource): Json;
  add(type: Type, name: string, body: Json, group?: string): FakeResource;
  /** Ends the operations whose time is over. */
  settle(): void;
}

export interface FakeNetworkParts {
  readonly clock: Clock;
  /** Begins an operation, and says where it can be watched. */
  start(call: ReceivedCall): {
    readonly operation: FakeOperation | undefined;
    readonly headers: Record<string, string>;
  };
  /** Ids of the configurations of interfaces, and of models of scale sets, that are in that backend pool. */
  /** The pool goes: interfaces of stand-alone VMs forget it. */
  leftBy(pool: string): void;
  membersOf(pool: string): { readonly configurations: readonly string[]; readonly models: readonly string[] };
}

const types = new Map<string, Type>([
  ['loadbalancers', 'loadBalancers'],
  ['publicipaddresses', 'publicIPAddresses'],
  ['networksecuritygroups', 'networkSecurityGroups'],
]);

type Part = { readonly name: string; readonly properties: Record<string, unknown> };
const partsOf = (body: Json, list: string) =>
  (((body['properties'] as Json)?.[list] ?? []) as readonly (Omit<Part, 'properties'> & Partial<Part>)[]).map(
    (part): Part => ({ ...part, properties: part.properties ?? {} }),
  );
const idOf = (properties: Json, name: string) => (properties[name] as { id?: string } | undefined)?.id?.toLowerCase();
const isPort = (value: unknown) => Number.isInteger(value) && Number(value) >= 1 && Number(value) <= 65_535;
const refuse = (code: string, message: string) => new FakeRefusal(400, code, message);

export function createFakeNetwork({ clock, start, membersOf, leftBy }: FakeNetworkParts): FakeNetwork {
  const resources = new Map<string, FakeResource>();
  let allocated = 0;

  const idIn = (group: string, type: string, name: string) =>
    `/subscriptions/${subscription}/resourceGroups/${group}/providers/Microsoft.Network/${type}/${name}`;
  const ofType = (type: Type) => [...resources.values()].filter((one) => one.type === type);

  /** Where a public address is used, by its id in lower case. */
  function frontendOf(address: string): string | undefined {
    for (const balancer of ofType('loadBalancers'))
      for (const { name, properties } of partsOf(balancer.body, 'frontendIPConfigurations'))
        if (idOf(properties, 'publicIPAddress') === address) return `${balancer.id}/frontendIPConfigurations/${name}`;
    return undefined;
  }

  function json(resource: FakeResource): Json {
    const { id, name, type, version, body, operation, failed } = resource;
    const etag = etagOf(version);
    const state = { provisioningState: operation !== undefined ? 'Updating' : failed ? 'Failed' : 'Succeeded' };
    const own = { name, id, etag, type: `Microsoft.Network/${type}`, location };
    const properties = body['properties'] as Json;
    const filled = (list: string, more: (part: Part) => Json = () => ({})) =>
      properties[list] === undefined
        ? {}
        : {
            [list]: partsOf(body, list).map((part) => ({
              ...part,
              id: `${id}/${list}/${part.name}`,
              etag,
              type: `Microsoft.Network/${type}/${list}`,
              properties: { provisioningState: 'Succeeded', ...part.properties, ...more(part) },
            })),
          };
    const users = (role: string, list: string) => (part: Part) => {
      const target = `${id}/${list}/${part.name}`.toLowerCase();
      const rules = partsOf(body, 'loadBalancingRules').filter((rule) => idOf(rule.properties, role) === target);
      if (rules.length === 0) return {};
      return { loadBalancingRules: rules.map((rule) => ({ id: `${id}/loadBalancingRules/${rule.name}` })) };
    };
    const members = (part: Part) => {
      const { configurations } = membersOf(`${id}/backendAddressPools/${part.name}`);
      const shown = configurations.map((one) => ({ id: one }));
      return shown.length === 0 ? {} : { backendIPConfigurations: shown };
    };
    if (type === 'publicIPAddresses') {
      const used = frontendOf(id.toLowerCase());
      const more = used === undefined ? {} : { ipConfiguration: { id: used } };
      return { ...body, ...own, properties: { ...properties, ...state, ...more } };
    }
    if (type === 'networkSecurityGroups')
      return { ...body, ...own, properties: { ...properties, ...state, ...filled('securityRules') } };
    return {
      ...body,
      ...own,
      properties: {
        ...properties,
        ...state,
        resourceGuid: '11111111-2222-4333-8444-000000000000',
        ...filled('frontendIPConfigurations', users('frontendIPConfiguration', 'frontendIPConfigurations')),
        ...filled('backendAddressPools', (part) => ({
          ...users('backendAddressPool', 'backendAddressPools')(part),
          ...members(part),
        })),
        ...filled('loadBalancingRules'),
        ...filled('probes', users('probe', 'probes')),
        ...filled('outboundRules'),
      },
    };
  }

  /** As Resource Manager keeps what was sent: what it fills in itself is taken off. */
  function stripped(body: Json): Json {
    const { etag: _, id: __, ...rest } = body;
    const readOnly = new Set(['provisioningState', 'resourceGuid', 'ipConfiguration', 'defaultSecurityRules']);
    const properties = Object.entries((body['properties'] ?? {}) as Json).flatMap(([name, value]) => {
      if (readOnly.has(name)) return [];
      if (!Array.isArray(value)) return [[name, value]];
      return [
        [
          name,
          value.map((part: Part | string) => {
            if (typeof part === 'string' || part.properties === undefined) return part;
            const { provisioningState: _p, loadBalancingRules: _l, outboundRules: _o, ...own } = part.properties;
            const { backendIPConfigurations: _b, ...rest } = own;
            return { name: part.name, properties: rest };
          }),
        ],
      ];
    });
    return { ...rest, properties: Object.fromEntries(properties) };
  }

  function assertMatch(call: ReceivedCall, there: FakeResource | undefined): void {
    const { 'if-match': match, 'if-none-match': none } = call.headers;
    if (there?.operation !== undefined) {
      const message = 'Another operation is in progress. The call can be retried in 2 seconds.';
      const details = [{ code: 'RetryableErrorDueToAnotherOperation', message }];
      throw new FakeRefusal(429, 'RetryableError', 'A retryable error occurred.', { details });
    }
    const stale = match !== undefined && match !== (there && etagOf(there.version));
    if (stale || (none === '*' && there !== undefined))
      throw new FakeRefusal(412, 'PreconditionFailed', `Precondition failed. Etag provided: ${match ?? none}`);
  }

  function put(call: ReceivedCall, id: string, type: Type, name: string, there: FakeResource | undefined): FakeAnswer {
    assertMatch(call, there);
    if (call.body['location'] === undefined) throw refuse('LocationRequired', 'The location property is required.');
    if (!/^[A-Za-z0-9]([\w.-]{0,78}\w)?$/.test(name)) throw refuse('InvalidResourceName', `${name} is invalid.`);
    const tagNames = Object.entries((call.body['tags'] ?? {}) as Record<string, string>);
    if (tagNames.length > 50 || tagNames.some(([tag, text]) => /[<>%&\\?/]/.test(tag) || text.length > 256))
      throw refuse('InvalidTagNameCharacters', 'The tags are invalid.');
    let body = stripped(call.body);
    if (type === 'loadBalancers') body = checkedBalancer(id, body);
    if (type === 'publicIPAddresses') body = checkedAddress(there, body);
    if (type === 'networkSecurityGroups') checkRules(body);
    const resource = there ?? { id, name, type, version: 0, body, operation: undefined, failed: false };
    resource.body = body;
    resource.version += 1;
    resources.set(id.toLowerCase(), resource);
    const { operation, headers } = start(call);
    resource.operation = operation;
    return { status: there === undefined ? 201 : 200, headers, body: json(resource) };
  }

  /** Scale sets keep a pool from going; other interfaces do not. */
  function assertUnused(id: string, stays: (pool: string) => boolean): void {
    const there = resources.get(id.toLowerCase());
    for (const { name } of there === undefined ? [] : partsOf(there.body, 'backendAddressPools')) {
      const pool = `${id}/backendAddressPools/${name}`.toLowerCase();
      const { configurations, models } = membersOf(pool);
      const inSet = (configuration: string) => /\/virtualMachineScaleSets\//i.test(configuration);
      const [user] = [...configurations.filter(inSet), ...models];
      if (stays(pool)) continue;
      if (user !== undefined) throw refuse('InUseBackendAddressPoolCannotBeDeleted', `${pool}: ${user}`);
      leftBy(pool);
    }
    for (const { name, properties } of there === undefined ? [] : partsOf(there.body, 'backendAddressPools')) {
      const addresses = (properties['loadBalancerBackendAddresses'] ?? []) as readonly unknown[];
      const { configurations } = membersOf(`${id}/backendAddressPools/${name}`);
      if (addresses.length > 0 && configurations.length > 0) throw refuse('MixedBackendAddressPool', name);
    }
  }

  function checkedBalancer(id: string, body: Json): Json {
    const ids = new Set(
      ['frontendIPConfigurations', 'backendAddressPools', 'probes'].flatMap((list) =>
        partsOf(body, list).map(({ name }) => `${id}/${list}/${name}`.toLowerCase()),
      ),
    );
    assertUnused(id, (pool) => ids.has(pool));
    const seen = new Set<string>();
    const rules = partsOf(body, 'loadBalancingRules');
    if (rules.length > fake.maxRules)
      throw refuse('LoadBalancingRuleCountLimitReached', `Cannot have more than ${fake.maxRules} rules.`);
    for (const { name, properties } of rules) {
      for (const role of ['frontendIPConfiguration', 'backendAddressPool', 'probe'] as const) {
        const target = idOf(properties, role);
        if (target === undefined && role !== 'probe') throw refuse('MissingJsonReferenceId', `${name}: ${role}`);
        if (target !== undefined && !ids.has(target)) throw refuse('InvalidResourceReference', `${name}: ${target}`);
      }
      const { protocol, frontendPort, backendPort, enableFloatingIP } = properties;
      const isAll = String(protocol).toLowerCase() === 'all';
      if (isAll !== (frontendPort === 0)) throw refuse('LoadBalancerHaPorts', `${name}: ${protocol} ${frontendPort}`);
      if (isAll && enableFloatingIP !== true && rules.length > 1)
        throw refuse('LoadBalancerHaPorts', `${name}: not floating, beside other rules`);
      if (!isAll && !isPort(backendPort)) throw refuse('InvalidBackendPort', `${name}: ${backendPort}`);
      const front = idOf(properties, 'frontendIPConfiguration');
      const keys = [`front ${front} ${protocol} ${frontendPort}`];
      const pool = idOf(properties, 'backendAddressPool');
      if (enableFloatingIP !== true) keys.push(`back ${pool} ${protocol} ${backendPort}`);
      for (const key of keys) {
        if (seen.has(key)) throw refuse('RulesUseSameBackendPortProtocolAndPool', `${name}: ${key}`);
        seen.add(key);
      }
    }
    for (const { name, properties } of partsOf(body, 'probes')) {
      const { protocol, port, requestPath } = properties as Record<string, unknown>;
      if (!isPort(port)) throw refuse('InvalidProbePort', `${name}: ${port}`);
      if ((requestPath === undefined) !== (protocol === 'Tcp')) throw refuse('InvalidRequestPath', `${name}`);
    }
    const others = ofType('loadBalancers').filter((one) => one.id.toLowerCase() !== id.toLowerCase());
    const used = new Set(
      others.flatMap((one) =>
        partsOf(one.body, 'frontendIPConfigurations').map(({ properties }) => String(properties['privateIPAddress'])),
      ),
    );
    const frontends = partsOf(body, 'frontendIPConfigurations').map(({ name, properties }): Part => {
      const address = idOf(properties, 'publicIPAddress');
      if (address !== undefined) {
        if (!resources.has(address)) throw refuse('InvalidResourceReference', `${address} was not found.`);
        const at = frontendOf(address);
        const own = `${id}/frontendIPConfigurations/`.toLowerCase();
        if (used.has(address) || (at !== undefined && !at.toLowerCase().startsWith(own)))
          throw refuse('PublicIPAddressInUse', `${address} is in use by ${at}.`);
        used.add(address);
        return { name, properties };
      }
      const subnet = properties['subnet'] as { id?: string } | undefined;
      if (subnet?.id === undefined) throw refuse('FrontendIPConfigMissing', name);
      let { privateIPAddress: ip } = properties;
      const isSix = properties['privateIPAddressVersion'] === 'IPv6';
      if (ip === undefined) {
        allocated += 1;
        ip = isSix ? `fd00:240::${allocated + 3}` : `10.240.0.${allocated + 3}`;
      } else if (isSix ? !/^fd00:240::[0-9a-f]+$/.test(String(ip)) : !/^10\.240\.0\.\d+$/.test(String(ip)))
        throw refuse('PrivateIPAddressNotInSubnet', `${ip}`);
      if (used.has(String(ip))) throw refuse('PrivateIPAddressIsAllocated', `${ip} is already allocated.`);
      used.add(String(ip));
      return {
        name,
        properties: { privateIPAddressVersion: 'IPv4', ...properties, subnet: { id: subnet.id }, privateIPAddress: ip },
      };
    });
    const properties = body['properties'] as Json;
    if (frontends.length === 0) return body;
    return { ...body, properties: { ...properties, frontendIPConfigurations: frontends } };
  }

  function checkedAddress(there: FakeResource | undefined, body: Json): Json {
    const ip = (there?.body['properties'] as Json | undefined)?.['ipAddress'];
    if (there === undefined && ofType('publicIPAddresses').length >= fake.maxAddresses)
      throw refuse('PublicIPCountLimitReached', `Cannot create more than ${fake.maxAddresses} public IP addresses.`);
    if (ip === undefined) allocated += 1;
    const isSix = (body['properties'] as Json)['publicIPAddressVersion'] === 'IPv6';
    const own = isSix ? `2001:db8:ab::${allocated.toString(16)}` : `203.0.${113 + (allocated >> 8)}.${allocated & 255}`;
    const properties = { idleTimeoutInMinutes: 4, ipTags: [], ...(body['properties'] as Json), ipAddress: ip ?? own };
    return { ...body, properties };
  }

  function checkRules(body: Json): void {
    const seen = new Set<string>();
    for (const { name, properties } of partsOf(body, 'securityRules')) {
      const { priority, direction, destinationAddressPrefix: one, destinationAddressPrefixes: all } = properties;
      const isGood = typeof priority === 'number' && priority >= 100 && priority <= 4096;
      if (!isGood) throw refuse('SecurityRuleInvalidPriority', `${name}: ${priority}`);
      if ((one === undefined) === !(Array.isArray(all) && all.length > 0))
        throw refuse('SecurityRuleParameterContainsUnsupportedValue', `${name}: destinations`);
      for (const key of [`name ${name.toLowerCase()}`, `${direction} ${priority}`]) {
        if (seen.has(key)) throw refuse('SecurityRuleConflict', `${name}: ${key}`);
        seen.add(key);
      }
    }
  }

  /** A pool by itself: a change of its load balancer. */
  function answerPool(call: ReceivedCall, name: string): FakeAnswer {
    const path = call.path.replace(/\/backendAddressPools\/.*$/i, '');
    const balancer = resources.get(path.toLowerCase());
    if (balancer === undefined) throw new FakeRefusal(404, 'ResourceNotFound', path);
    const pools = () => partsOf(json(balancer), 'backendAddressPools').filter((one) => one.name === name);
    if (call.method !== 'PUT') return { status: 200, body: pools()[0] };
    const next = partsOf(stripped({ properties: { list: [{ ...call.body, name }] } }), 'list');
    const list = partsOf(balancer.body, 'backendAddressPools').map((one) => (one.name === name ? next[0]! : one));
    const body = {
      ...balancer.body,
      properties: { ...(balancer.body['properties'] as Json), backendAddressPools: list },
    };
    const sent = { ...call, path, body, headers: {} };
    const answer = put(sent, balancer.id, 'loadBalancers', balancer.name, balancer);
    return { ...answer, body: pools()[0] };
  }

  function remove(call: ReceivedCall, there: FakeResource | undefined): FakeAnswer {
    if (there === undefined) return { status: 204 };
    assertMatch(call, there);
    const used = there.type === 'publicIPAddresses' ? frontendOf(there.id.toLowerCase()) : undefined;
    if (used !== undefined)
      throw refuse('PublicIPAddressCannotBeDeleted', `${there.id} is still allocated to resource ${used}.`);
    assertUnused(there.id, () => false);
    resources.delete(there.id.toLowerCase());
    const { operation, headers } = start(call);
    return { status: operation === undefined ? 200 : 202, headers };
  }

  const fake: FakeNetwork = {
    resources,
    maxAddresses: 1000,
    maxRules: 1500,
    json,
    answer(call, group, [kind = '', name, below = '', part]) {
      if (/^virtualnetworks$/i.test(kind) && part !== undefined) {
        const properties = { addressPrefix: '10.240.0.0/24', provisioningState: 'Succeeded' };
        return { status: 200, body: { id: call.path, name: part, etag: etagOf(1), properties } };
      }
      if (/^privatelinkservices$/i.test(kind) && name === undefined) return [];
      const type = types.get(kind.toLowerCase());
      if (type === undefined) return undefined;
      if (/^backendaddresspools$/i.test(below) && part !== undefined) return answerPool(call, part);
      if (name === undefined) {
        const own = ofType(type).filter(({ id }) => id.split('/')[4]?.toLowerCase() === group.toLowerCase());
        return own.map(json);
      }
      const there = resources.get(call.path.toLowerCase());
      if (call.method === 'PUT') return put(call, idIn(group.toLowerCase(), type, name), type, name, there);
      if (call.method === 'DELETE') return remove(call, there);
      if (there !== undefined) return { status: 200, body: json(there) };
      const message = `The Resource 'Microsoft.Network/${type}/${name}' under resource group '${group}' was not found.`;
      throw new FakeRefusal(404, 'ResourceNotFound', message);
    },
    add(type, name, body, group = 'rg') {
      const id = idIn(group, type, name);
      const own = type === 'publicIPAddresses' ? checkedAddress(undefined, body) : body;
      const resource: FakeResource = { id, name, type, version: 1, body: own, operation: undefined, failed: false };
      resources.set(id.toLowerCase(), resource);
      return resource;
    },
    settle() {
      for (const resource of resources.values()) {
        if (resource.operation === undefined || resource.operation.endsAt > clock.now()) continue;
        resource.failed = resource.operation.error !== undefined;
        resource.operation = undefined;
        resource.version += 1;
      }
    },
  };
  return fake;
}
