import type { Clock } from '../../../../common/process/clock.ts';
import type { Http } from '../../../../common/process/http.ts';
import { type FakeAnswer, httpOf, type Json, type ReceivedCall } from '../../fake-http.ts';
import { answerOf, FakeRefusal, pageOf } from './fake-api.ts';
import { createFakeLogin, type FakeLogin } from './fake-login.ts';
import { addSet, addVm, createInventory, deleteVm, type FakeInventory, type VmOptions } from './fake-machines.ts';
import { createFakeMembership } from './fake-membership.ts';
import { createFakeNetwork, type FakeNetwork } from './fake-network.ts';
import { assertAllowed } from './fake-permissions.ts';
import {
  etagOf,
  type FakeOperation,
  type FakeSet,
  type FakeTable,
  type FakeVm,
  interfaceJson,
  location,
  publicAddressJson,
  setJson,
  subscription,
  tableJson,
  tenant,
  viewJson,
  vmJson,
} from './fake-state.ts';

export interface FakeAzure extends FakeInventory {
  readonly login: FakeLogin;
  readonly network: FakeNetwork;
  readonly calls: ReceivedCall[];
  /** Zones of disks by their ids. */
  readonly disks: Map<string, readonly string[] | undefined>;
  /** By ids in lower case. */
  readonly tables: Map<string, FakeTable>;
  /** What the credential may do; its role reaches the whole subscription, or its resource groups alone. */
  permissions: readonly Json[];
  reachesSubscription: boolean;
  /** Actions that a role in the resource group has, in lower case. Undefined: all, and in the subscription too. */
  allowed: ReadonlySet<string> | undefined;
  pageSize: number;
  maxRoutes: number;
  /** How long an operation takes. */
  operationMs: number;
  /** The next operation ends with this error. */
  failNext: Json | undefined;
  /** How a started operation is told of: by its own URL, by that of its result, or by the resource alone. */
  told: 'Azure-AsyncOperation' | 'Location' | 'neither';
  /** Answers instead of the API. */
  fault: ((call: ReceivedCall) => FakeAnswer | undefined) | undefined;
  addVm(name: string, options?: VmOptions): FakeVm;
  addSet(name: string, mode: FakeSet['mode'], group?: string): FakeSet;
  deleteVm(id: string): void;
  addTable(name: string, group?: string): FakeTable;
  answer(call: ReceivedCall): FakeAnswer;
  readonly http: Http;
}

/** Lowest versions with everything that is sent. */
const knownVersions = /^20(1[89]|2\d)-\d\d-\d\d$/;

export function createFakeAzure(clock: Clock): FakeAzure {
  const operations = new Map<string, FakeOperation>();
  const inventory = createInventory();
  const { vms, sets, publicAddresses, groups } = inventory;

  function settle(): void {
    network.settle();
    for (const table of fake.tables.values()) {
      if (table.operation === undefined || table.operation.endsAt > clock.now()) continue;
      table.failed = table.operation.error !== undefined;
      table.operation = undefined;
      table.version += 1;
    }
  }

  const ok = (body: Json): FakeAnswer => ({ status: 200, body });
  const page = (call: ReceivedCall, items: Iterable<Json>) => pageOf([...items], call, fake.pageSize);
  const inGroup = <One extends { readonly id: string }>(all: Iterable<One>, group: string): One[] =>
    [...all].filter(({ id }) => id.split('/')[4]?.toLowerCase() === group.toLowerCase());

  function notFound(type: string, name: string, group: string): FakeRefusal {
    const message = `The Resource '${type}/${name}' under resource group '${group}' was not found.`;
    return new FakeRefusal(404, 'ResourceNotFound', message);
  }

  function answerCompute(call: ReceivedCall, group: string, rest: readonly string[]): FakeAnswer {
    const [type = '', name, subtype, ...more] = rest;
    const withView = call.query.get('$expand')?.toLowerCase() === 'instanceview';
    if (type.toLowerCase() === 'virtualmachines') {
      if (name === undefined) {
        // Only of the VMs of one flexible scale set, which a filter names.
        const [, of] = /^'virtualMachineScaleSet\/id' eq '(.*)'$/.exec(call.query.get('$filter') ?? '') ?? [];
        if (withView && of === undefined)
          throw new FakeRefusal(400, 'InvalidParameter', '$expand needs a $filter here');
        const isOf = ({ set }: FakeVm) => of === undefined || set?.id.toLowerCase() === of.toLowerCase();
        const all = inGroup(vms.values(), group).filter((vm) => vm.instanceId === undefined && isOf(vm));
        return page(
          call,
          all.map((vm) => vmJson(vm, withView)),
        );
      }
      const vm = vms.get(call.path.toLowerCase());
      if (vm === undefined) throw notFound('Microsoft.Compute/virtualMachines', name, group);
      return { status: 200, body: vmJson(vm, withView) };
    }
    if (type.toLowerCase() === 'disks') {
      const disks = inGroup(
        [...fake.disks].map(([id, zones]) => ({ id, location, ...(zones && { zones }) })),
        group,
      );
      if (name === undefined) return page(call, disks);
      const disk = disks.find(({ id }) => id.toLowerCase() === call.path.toLowerCase());
      if (disk === undefined) throw notFound('Microsoft.Compute/disks', name, group);
      return ok(disk);
    }
    if (type.toLowerCase() !== 'virtualmachinescalesets') throw new FakeRefusal(400, 'InvalidResourceType', call.path);
    if (name === undefined) return page(call, inGroup(sets.values(), group).map(setJson));
    const set = [...sets.values()].find(
      (one) => one.name.toLowerCase() === name.toLowerCase() && inGroup([one], group)[0],
    );
    if (set === undefined && subtype === undefined)
      throw notFound('Microsoft.Compute/virtualMachineScaleSets', name, group);
    if (set === undefined) {
      const message = `Can not perform requested operation on nested resource. Parent resource '${name}' not found.`;
      throw new FakeRefusal(404, 'ParentResourceNotFound', message);
    }
    if (subtype === undefined) return call.method === 'PUT' ? membership.putSet(call, set) : ok(setJson(set));
    const instances = [...vms.values()].filter((vm) => vm.set === set && vm.instanceId !== undefined);
    const nics = (all: readonly FakeVm[]) => all.flatMap((vm) => vm.interfaces.map((one) => interfaceJson(one, vm)));
    if (subtype.toLowerCase() === 'networkinterfaces') {
      if (instances.length === 0) throw new FakeRefusal(404, 'NotFound', `Resource ${set.id} not found.`);
      return page(call, nics(instances));
    }
    const publicOnes = (prefix: string) =>
      [...publicAddresses.values()].filter(({ id }) => id.toLowerCase().startsWith(`${prefix.toLowerCase()}/`));
    if (subtype.toLowerCase() === 'publicipaddresses') return page(call, publicOnes(set.id).map(publicAddressJson));
    const [instanceId, below] = more;
    if (instanceId === undefined)
      return page(
        call,
        instances.map((vm) => vmJson(vm, withView)),
      );
    const vm = instances.find((one) => one.instanceId === instanceId);
    if (vm === undefined) throw new FakeRefusal(404, 'NotFound', 'The entity was not found in this Azure location.');
    if (below === undefined) return call.method === 'PUT' ? membership.putInstance(call, vm) : ok(vmJson(vm, withView));
    if (more.length === 2) return page(call, nics([vm]));
    const nic = vm.interfaces.find(({ id }) => call.path.toLowerCase().startsWith(id.toLowerCase()));
    if (nic === undefined) throw new FakeRefusal(404, 'NotFound', `Resource ${call.path} not found.`);
    if (more.length === 3) return { status: 200, body: interfaceJson(nic, vm) };
    const address = publicAddresses.get(call.path.toLowerCase());
    if (address === undefined) throw new FakeRefusal(404, 'NotFound', `Resource ${call.path} not found.`);
    return { status: 200, body: publicAddressJson(address) };
  }

  function answerNetwork(call: ReceivedCall, group: string, rest: readonly string[]): FakeAnswer {
    const [type = '', name] = rest;
    const kind = type.toLowerCase();
    if (kind === 'networkinterfaces') {
      const standing = [...vms.values()].filter(({ instanceId }) => instanceId === undefined);
      const pairs = standing.flatMap((vm) => vm.interfaces.map((one) => ({ vm, one, id: one.id })));
      if (name === undefined)
        return page(
          call,
          inGroup(pairs, group).map(({ one, vm }) => interfaceJson(one, vm)),
        );
      const found = pairs.find(({ id }) => id.toLowerCase() === call.path.toLowerCase());
      if (found === undefined) throw notFound('Microsoft.Network/networkInterfaces', name, group);
      return call.method === 'PUT'
        ? membership.putInterface(call, found.one, found.vm)
        : ok(interfaceJson(found.one, found.vm));
    }
    if (kind === 'publicipaddresses') {
      const standing = [...publicAddresses.values()].filter(({ id }) => /Microsoft\.Network\/publicIP/.test(id));
      const found = publicAddresses.get(call.path.toLowerCase());
      if (found !== undefined) return { status: 200, body: publicAddressJson(found) };
      const own = network.answer(call, group, rest);
      if (!Array.isArray(own)) return own as FakeAnswer;
      return page(call, [...inGroup(standing, group).map(publicAddressJson), ...own]);
    }
    const answered = network.answer(call, group, rest);
    if (answered !== undefined) return 'status' in answered ? answered : page(call, answered);
    if (kind !== 'routetables') throw new FakeRefusal(400, 'InvalidResourceType', call.path);
    if (name === undefined) return page(call, inGroup(fake.tables.values(), group).map(tableJson));
    const table = fake.tables.get(call.path.toLowerCase());
    if (call.method === 'PUT') return putTable(call, name, table);
    if (table === undefined) throw notFound('Microsoft.Network/routeTables', name, group);
    return { status: 200, body: tableJson(table) };
  }

  function putTable(call: ReceivedCall, name: string, there: FakeTable | undefined): FakeAnswer {
    const { 'if-match': match, 'if-none-match': none } = call.headers;
    if (there?.operation !== undefined) {
      const what = `Operation PutRouteTableOperation is updating resource ${there.id}.`;
      const message = `${what} The call can be retried in 2 seconds.`;
      const details = [{ code: 'RetryableErrorDueToAnotherOperation', message }];
      throw new FakeRefusal(429, 'RetryableError', 'A retryable error occurred.', { details });
    }
    const stale = match !== undefined && match !== (there && etagOf(there.version));
    if (stale || (none === '*' && there !== undefined))
      throw new FakeRefusal(
        412,
        'PreconditionFailed',
        'Precondition failed. Etag provided in If-Match does not match.',
      );
    const { body } = call;
    if (body['location'] !== location) throw new FakeRefusal(400, 'LocationRequired', 'The location is wrong.');
    const { routes = [], provisioningState: _, ...properties } = (body['properties'] ?? {}) as Json;
    assertRoutes(routes as readonly Json[], fake.maxRoutes);
    const table = there ?? fake.addTable(name, call.path.split('/')[4]!);
    table.routes = (routes as readonly Json[]).map((route) => ({
      name: route['name'],
      properties: ownProperties(route),
    }));
    table.properties = properties;
    table.tags = (body['tags'] ?? {}) as Json;
    table.version += 1;
    if (fake.operationMs === 0) return { status: there === undefined ? 201 : 200, body: tableJson(table) };
    const { operation, headers } = start(call);
    table.operation = operation;
    return { status: there === undefined ? 201 : 200, headers, body: tableJson(table) };
  }

  function start(call: ReceivedCall): { operation: FakeOperation | undefined; headers: Record<string, string> } {
    if (fake.operationMs === 0) return { operation: undefined, headers: {} };
    const operation = {
      id: `operation-${operations.size + 1}`,
      endsAt: clock.now() + fake.operationMs,
      error: fake.failNext,
    };
    fake.failNext = undefined;
    operations.set(operation.id, operation);
    const url = (what: string) =>
      `${call.origin}/subscriptions/${subscription}/providers/Microsoft.Network/locations/${location}/${what}/` +
      `${operation.id}?api-version=2024-05-01`;
    const headers = {
      ...(fake.told === 'Azure-AsyncOperation' ? { 'azure-asyncoperation': url('operations') } : {}),
      ...(fake.told === 'Location' ? { location: url('operationResults') } : {}),
      'retry-after': '1',
    };
    return { operation, headers };
  }

  function answerOperation(kind: string, id: string): FakeAnswer {
    const operation = operations.get(id);
    if (operation === undefined) throw new FakeRefusal(404, 'ResourceNotFound', `operation ${id}`);
    const running = operation.endsAt > clock.now();
    if (kind.toLowerCase() === 'operationresults')
      return running ? { status: 202, headers: { 'retry-after': '1' } } : { status: 204 };
    if (running) return { status: 200, headers: { 'retry-after': '1' }, body: { status: 'InProgress' } };
    const { error } = operation;
    return { status: 200, body: error === undefined ? { status: 'Succeeded' } : { status: 'Failed', error } };
  }

  function answerManager(received: ReceivedCall): FakeAnswer {
    const call = { ...received, path: decodeURIComponent(received.path) };
    if (!knownVersions.test(call.query.get('api-version') ?? ''))
      throw new FakeRefusal(400, 'MissingApiVersionParameter', 'The api-version query parameter is required.');
    const [, , id = '', ...rest] = call.path.split('/');
    if (id.toLowerCase() !== subscription)
      throw new FakeRefusal(404, 'SubscriptionNotFound', `The subscription '${id}' could not be found.`);
    if (rest.length === 0)
      return {
        status: 200,
        body: { id: `/subscriptions/${id}`, subscriptionId: id, tenantId: tenant, state: 'Enabled' },
      };
    if (rest[0] === 'providers') return answerSubscription(call, rest.slice(1));
    const [, group = '', , provider = '', ...more] = rest;
    if (!groups.has(group.toLowerCase()))
      throw new FakeRefusal(404, 'ResourceGroupNotFound', `Resource group '${group}' could not be found.`);
    if (/^microsoft\.authorization$/i.test(provider)) return page(call, fake.permissions);
    if (/^microsoft\.compute$/i.test(provider)) return answerCompute(call, group, more);
    if (/^microsoft\.network$/i.test(provider)) return answerNetwork(call, group, more);
    throw new FakeRefusal(404, 'InvalidResourceNamespace', provider);
  }

  function answerSubscription(
    call: ReceivedCall,
    [provider = '', type = '', , kind = '', id = '']: readonly string[],
  ): FakeAnswer {
    if (/^locations$/i.test(type)) return answerOperation(kind, id);
    if (!fake.reachesSubscription)
      throw new FakeRefusal(403, 'AuthorizationFailed', 'The client does not have authorization over this scope.');
    if (type === '') return { status: 200, body: { namespace: provider, resourceTypes: [] } };
    const all = [...vms.values()].filter(({ instanceId }) => instanceId === undefined);
    if (call.query.get('statusOnly') !== 'true')
      return page(
        call,
        all.map((vm) => vmJson(vm, false)),
      );
    return page(
      call,
      all.map((vm) => {
        const { statuses, ...more } = viewJson(vm);
        const maintenance = Object.entries(more).filter(([name]) => name === 'maintenanceRedeployStatus');
        const instanceView = { statuses, ...Object.fromEntries(maintenance) };
        return { id: vm.id, name: vm.name, location, properties: { instanceView } };
      }),
    );
  }

  const membership = createFakeMembership({ inventory, start, balancers: () => network.resources });
  const network = createFakeNetwork({ clock, start, ...membership });
  const fake: FakeAzure = {
    ...inventory,
    network,
    disks: new Map(),
    login: createFakeLogin(clock),
    calls: [],
    tables: new Map(),
    reachesSubscription: true,
    permissions: [{ actions: ['*'], notActions: [] }],
    pageSize: 50,
    maxRoutes: 400,
    operationMs: 1500,
    failNext: undefined,
    told: 'Azure-AsyncOperation',
    fault: undefined,
    allowed: undefined,
    addVm: (name, options = {}) => addVm(inventory, name, options),
    addSet: (name, mode, group = 'rg') => addSet(inventory, name, mode, group),
    deleteVm: (id) => deleteVm(inventory, id),
    addTable(name, group = 'rg') {
      const groupId = `/subscriptions/${subscription}/resourceGroups/${group}`;
      const id = `${groupId}/providers/Microsoft.Network/routeTables/${name}`;
      const table = { id, name, version: 1, routes: [], tags: {}, properties: {}, operation: undefined, failed: false };
      fake.tables.set(id.toLowerCase(), table);
      return table;
    },
    answer(call) {
      fake.calls.push(call);
      settle();
      try {
        const instead = fake.fault?.(call);
        if (instead !== undefined) return instead;
        const login = fake.login.answer(call);
        if (login !== undefined) return login;
        if (!fake.login.accepts(call.headers['authorization'] ?? ''))
          throw new FakeRefusal(401, 'InvalidAuthenticationToken', 'The access token is invalid.');
        assertAllowed(call, fake.allowed);
        return answerManager(call);
      } catch (error) {
        if (error instanceof FakeRefusal) return answerOf(error);
        throw error;
      }
    },
    http: httpOf((call) => fake.answer(call)),
  };
  network.add('networkSecurityGroups', 'nodes', { location, tags: {}, properties: { securityRules: [] } });
  return fake;
}

function ownProperties(route: Json): Json {
  const { provisioningState: _, ...properties } = route['properties'] as Json;
  return properties;
}

function assertRoutes(routes: readonly Json[], most: number): void {
  const refuse = (code: string, message: string) => new FakeRefusal(400, code, message);
  if (routes.length > most) throw refuse('RouteTableRoutesLimitReached', `Cannot have more than ${most} routes.`);
  const seen = new Set<string>();
  for (const route of routes) {
    const { name, properties } = route as {
      readonly name: string;
      readonly properties: Readonly<Record<string, string>>;
    };
    const { addressPrefix = '', nextHopType = '', nextHopIpAddress } = properties;
    if (!/^[A-Za-z0-9]([\w.-]{0,78}\w)?$/.test(name))
      throw refuse('InvalidResourceName', `Resource name ${name} is invalid.`);
    if ((nextHopType === 'VirtualAppliance') !== (nextHopIpAddress !== undefined))
      throw refuse('RouteNextHopIpAddressInvalid', `Route ${name}: next hop and its type do not go together.`);
    for (const key of [`name ${name.toLowerCase()}`, `prefix ${addressPrefix}`]) {
      if (seen.has(key)) throw refuse('RouteConflictInRouteTable', `Two routes have the same ${key}.`);
      seen.add(key);
    }
  }
}
