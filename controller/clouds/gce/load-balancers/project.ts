import type { compute_v1 } from '@googleapis/compute';
import { CloudError, isCloudError } from '../../../../common/cloud-error.ts';
import type { Clock } from '../../../../common/process/clock.ts';
import { gce } from '../../../../common/provider-id/gce.ts';
import type { ReadIo, WriteIo } from '../../../engine/resource.ts';
import type { AnswerFields } from '../../answer-fields.ts';
import type { ApiRequest } from '../../json-api.ts';
import type { Sent } from '../../sent.ts';
import { type GceClient, lastSegment } from '../client.ts';
import { cloud, saysMissing, throwProved } from '../fault.ts';
import type { Actions } from './actions.ts';
import { anyName, loadBalancerIn } from './names.ts';

/** A resource as the API shows it. */
export interface Shown<W = unknown> {
  /** Below the project: `regions/us-central1/forwardingRules/a1`. */
  readonly path: string;
  readonly name: string;
  /** The number that no other resource ever gets, even under the same name. */
  readonly id: string;
  readonly wire: W;
  /** Of an instance group: paths, and when they were listed. */
  readonly instances?: readonly string[];
  readonly listed?: Reading;
}

/** When something was read, and in which term of this leader. */
interface Reading {
  readonly term: number;
  readonly atMs: number;
}

export type WriteParts = Pick<WriteIo, 'permit' | 'signal' | 'owner'>;

export type Project = ReturnType<typeof createProject>;

export interface ProjectParts {
  readonly client: GceClient;
  readonly clock: Clock;
  readonly region: string;
  /** Id of the project. Throws a CloudError. */
  project(): string;
  network(): Promise<{ readonly project: string; readonly name: string }>;
}

const maxAgeMs = 15 * 60_000;
const groupList = 'aggregated/instanceGroups';
/** A kind of load balancer has each of these, and a cluster may have none of that kind. */
const mayBeUnused = /backendServices|targetPools|ealthChecks|instanceGroups/;

/** The resources that load balancers consist of, in one region of one project. */
export function createProject({ client, clock, region, project, network }: ProjectParts) {
  const known = new Map<string, { readonly shown: Shown | undefined; readonly order: number }>();
  const groupPaths = new Set<string>();
  const otherUsers = new Map<string, { readonly user: string; readonly toldTo: string }>();
  const gone = new Map<string, CloudError>();
  /** Of lists, by complete reads of everything. */
  const readings = new Map<string, Reading>();
  let term = 0;
  const nowRead = (): Reading => ({ term, atMs: clock.monotonic() });
  const isRecent = (reading?: Reading) => reading?.term === term && clock.monotonic() - reading.atMs < maxAgeMs;
  let [order, reads, isShared, hasSubnets] = [0, 0, false, false];
  const inRegion = (collection: string) => `regions/${region}/${collection}`;
  const everything = [
    ...['forwardingRules', 'backendServices', 'targetPools', 'healthChecks', 'addresses'].map(inRegion),
    'global/healthChecks',
    'global/httpHealthChecks',
    groupList,
  ];
  const subnetList = inRegion('subnetworks');
  const whole = (path: string) => `/projects/${project()}/${path}`;
  const providerID = (instance: string) => {
    const [, zone, , name] = instance.split('/');
    return gce.print({ instanceId: `${project()}/${zone}/${name}` })!;
  };

  function note(path: string, shown: Shown | undefined, at: number): void {
    // A list that began before a change of ours does not show it.
    if ((known.get(path)?.order ?? 0) <= at) known.set(path, { shown, order: at });
    if (isGroup(path)) groupPaths.add(path);
  }

  async function groups(filter: readonly [string, string], request: Partial<ApiRequest>): Promise<Shown[]> {
    const path = whole('aggregated/instanceGroups');
    const query = [filter];
    const listed = await client.aggregated(
      { ...request, path, query, operation: 'instanceGroups.aggregatedList' },
      'instanceGroups',
    );
    const ours = listed.items.filter((group) => lastSegment(group.optionalText('zone') ?? '').startsWith(`${region}-`));
    const missing = [...listed.unreachable].filter((zone) => zone.startsWith(`${region}-`));
    if (missing.length > 0) throw unreachable(missing);
    return Promise.all(ours.map(shownOf).map((group) => withInstances(group, request)));
  }
  async function withInstances(group: Shown, request: Partial<ApiRequest>): Promise<Shown> {
    const last = known.get(group.path)?.shown;
    const isSame = last?.id === group.id && last.instances?.length === (group.wire as InstanceGroup).size;
    if (request.urgency === 'refresh' && isSame && isRecent(last.listed)) return { ...last, ...group };
    const reading = nowRead();
    const members = await client.list({
      ...request,
      method: 'POST',
      path: `${whole(group.path)}/listInstances`,
      body: { instanceState: 'ALL' } satisfies compute_v1.Schema$InstanceGroupsListInstancesRequest,
      operation: 'instanceGroups.listInstances',
    });
    return { ...group, instances: members.map((one) => pathOf(one.text('instance'))).sort(), listed: reading };
  }

  async function readSubnets(request: Partial<ApiRequest>): Promise<Shown[]> {
    const path = `/projects/${(await network()).project}/${subnetList}`;
    try {
      return (await client.list({ ...request, path, operation: 'subnetworks.list' })).map(shownOf);
    } catch (error) {
      // They only tell beforehand what the cloud would refuse.
      if (isCloudError(error) && error.kind === 'Forbidden') return [];
      throw error;
    }
  }

  async function reread(path: string, signal: AbortSignal | undefined): Promise<Shown> {
    const request = { urgency: 'change', signal } as const;
    const operation = operationOf(path, 'get');
    // Of a group nothing changes but its instances.
    const group = isGroup(path) ? known.get(path)?.shown : undefined;
    const read = group ?? shownOf(await client.call({ ...request, path: whole(path), operation }));
    const shown = isGroup(path) ? await withInstances(read, request) : read;
    order += 1;
    note(path, shown, order);
    return shown;
  }
  async function change(
    path: string,
    request: Pick<ApiRequest, 'method' | 'path' | 'operation' | 'body'>,
    io: WriteParts,
  ) {
    await client.change(request, io).catch((error: unknown) => {
      const instance = instanceIn(error);
      if (instance === undefined) return throwProved(path)(error);
      const { message, operation } = error as CloudError;
      const subjects = [providerID(instance)];
      const refused = new CloudError({ kind: 'Invalid', cloud, operation, message, subjects, cause: error });
      gone.set(instance, refused);
      throw refused;
    });
    return reread(path, io.signal);
  }

  return {
    region,
    /** The network is of another project; known with the first read. */
    get isShared() {
      return isShared;
    },
    /** From the newest read or answer. */
    at: (path: string) => known.get(path)?.shown,
    *all() {
      for (const { shown } of known.values()) if (shown !== undefined) yield shown;
    },
    /** Paths of instance groups. */
    groups: (): Iterable<string> => groupPaths,
    /** Path of what no list shows and the cloud named as a user when that was to be deleted: an Ingress's backend. */
    otherUserOf: (path: string) => otherUsers.get(path)?.user,
    /** This Service is about to go: the cloud is asked again who uses what others could not delete. */
    forgetUsers(service: string): void {
      for (const [path, { toldTo }] of otherUsers) if (toldTo !== service) otherUsers.delete(path);
    },
    /** Reads show subnets from now on. */
    needSubnets(): void {
      hasSubnets = true;
    },
    /** Another process may have changed anything meanwhile: the next read of everything leaves out nothing. */
    startTerm(): void {
      term += 1;
    },
    /** The refusal of that instance as a member, since the last read of everything: it does not exist. */
    goneError: (instance: string) => gone.get(instance),
    providerID,
    /**
     * Every list in which that load balancer has a resource, or had one that no read since has shown to be gone, or
     * that may show what an insert without an answer has made.
     */
    listsOf(loadBalancer: string): ReadonlySet<string> {
      const own = [...known.keys()].filter((path) => loadBalancerIn(lastSegment(path)) === loadBalancer);
      return new Set(own.map(listOf));
    },
    /**
     * Reads every resource with such a name, all backends and all addresses. With `refresh` what cannot have changed by
     * this process, and hardly by others, is answered as it was read at most 15 minutes ago: lists that had nothing in
     * them, and the instances of groups that have as many as before.
     *
     * @param names a regular expression, of RE2, too
     * @param only the lists to read; what others show is answered as it was read last. Default: all
     */
    async read(
      names: string,
      urgency: 'need' | 'refresh',
      { signal }: ReadIo,
      only?: ReadonlySet<string>,
    ): Promise<readonly Shown[]> {
      // Without a network nothing is made; what stands can be read all the same.
      isShared = await network().then(
        (of) => of.project !== project(),
        () => isShared,
      );
      order += 1;
      const began = order;
      reads += 1;
      if (urgency === 'refresh') gone.clear();
      // What shares a health check or a group with others is known by all backends.
      const namesOf = (path: string) => (/backendServices|targetPools/.test(path) ? anyName : names);
      const filterOf = (path: string) => ['filter', `name eq "${namesOf(path)}"`] as const;
      const own = [...everything, ...(isShared ? [] : ['global/firewalls']), ...(hasSubnets ? [subnetList] : [])];
      const used = new Set([...known.keys()].map(listOf));
      const isUnused = (list: string) => mayBeUnused.test(list) && !used.has(list) && isRecent(readings.get(list));
      const isDue = (list: string) => (only === undefined ? urgency !== 'refresh' || !isUnused(list) : only.has(list));
      const lists = own.filter(isDue);
      const reading = nowRead();
      const answers = lists.map(async (path) => {
        if (path === groupList) return groups(filterOf(''), { urgency, signal });
        if (path === subnetList) return readSubnets({ urgency, signal });
        const query = path.endsWith('/addresses') ? [] : [filterOf(path)];
        const operation = operationOf(`${path}/`, 'list');
        return (await client.list({ path: whole(path), query, operation, urgency, signal })).map(shownOf);
      });
      const shown = await Promise.all(answers).finally(() => {
        reads -= 1;
      });
      if (urgency === 'refresh') for (const list of lists) readings.set(list, reading);
      const patterns = new Map([names, anyName].map((one) => [one, new RegExp(`^(?:${one})$`)]));
      // A server may not know filters.
      const isAsked = ({ path, name }: Pick<Shown, 'path' | 'name'>) =>
        /\/(addresses|subnetworks)\//.test(path) || patterns.get(namesOf(path))!.test(name);
      const isRead = (path: string) => lists.includes(listOf(path));
      const asked = shown.flat().filter(isAsked);
      const paths = new Set(asked.map(({ path }) => path));
      for (const one of asked) note(one.path, one, began);
      for (const [path, { shown: one, order: since }] of known) {
        if (!isRead(path) || paths.has(path) || !isAsked({ path, name: lastSegment(path) })) continue;
        if (one !== undefined) note(path, undefined, began);
        // No read that began before can show it any more.
        else if (since < began && reads === 0) known.delete(path);
      }
      const unread = [...known.values()].flatMap(({ shown: one }) =>
        one !== undefined && isAsked(one) && !isRead(one.path) ? [one] : [],
      );
      return [...asked.flatMap(({ path }) => known.get(path)?.shown ?? []), ...unread];
    },
    /** `projects/p/` and the path. */
    url: (path: string) => `projects/${project()}/${path}`,
    async networkUrl() {
      const { project: host, name } = await network();
      return `projects/${host}/global/networks/${name}`;
    },
    /** Of a subnet of the network. */
    subnetUrl: async (name: string) => `projects/${(await network()).project}/regions/${region}/subnetworks/${name}`,
    /** As all changes it waits for its operation, and answers the resource as it is then. */
    insert<W = never>(path: string, wire: Sent<NoInfer<W>>, io: WriteParts): Promise<Shown> {
      const collection = path.replace(/\/[^/]+$/, '');
      const request = { method: 'POST', path: whole(collection), operation: operationOf(path, 'insert') } as const;
      // Without an answer only a read of this list shows whether it was made.
      const mayExist = () => {
        if (known.get(path)?.shown === undefined) known.set(path, { shown: undefined, order });
      };
      mayExist();
      return change(path, { ...request, body: { name: lastSegment(path), ...wire } }, io).catch((error) => {
        mayExist();
        throw error;
      });
    },
    patch: <W = never>(path: string, body: Sent<NoInfer<W>>, io: WriteParts) =>
      change(path, { method: 'PATCH', path: whole(path), operation: operationOf(path, 'patch'), body }, io),
    act: <V extends keyof Actions>(path: string, verb: V, body: Sent<Actions[V]>, io: WriteParts) =>
      change(path, { method: 'POST', path: `${whole(path)}/${verb}`, operation: operationOf(path, verb), body }, io),
    /** Done as well where it is gone already. */
    async remove(path: string, io: WriteParts): Promise<void> {
      try {
        await client.change({ method: 'DELETE', path: whole(path), operation: operationOf(path, 'delete') }, io);
      } catch (error) {
        const user = userIn(error);
        // What was ours may count as a user for a moment after its end.
        if (user !== undefined && !known.has(user)) {
          otherUsers.set(path, { user, toldTo: io.owner.service });
          // It is theirs from now on, so nothing is left to do here.
          return;
        }
        if (!saysMissing(error, path)) throwProved(path)(error);
      }
      order += 1;
      note(path, undefined, order);
    },
  };
}

/** Path of what uses a resource that cannot be deleted. */
function userIn(error: unknown): string | undefined {
  const user = isCloudError(error) && error.kind === 'Busy' && /being used by '([^']+)'/.exec(error.message)?.[1];
  return user ? pathOf(user) : undefined;
}

/** Path of the instance that a change names, and that is not there: its member is refused. */
function instanceIn(error: unknown): string | undefined {
  const isRefused = isCloudError(error) && (error.kind === 'Invalid' || error.kind === 'NotFound');
  return isRefused && /not (be )?found|not exist/.test(error.message) && !/\.remove/.test(error.operation)
    ? /zones\/[^/]+\/instances\/[-a-z0-9]+/.exec(error.message)?.[0]
    : undefined;
}

const isGroup = (path: string) => path.includes('/instanceGroups/');

/** The list that shows it: of all zones, or its path without the name. */
const listOf = (path: string) => (isGroup(path) ? groupList : path.replace(/\/[^/]+$/, ''));

/** The name of the API's method: `regionBackendServices.insert`. */
function operationOf(path: string, verb: string): string {
  const [scope, ...rest] = path.split('/');
  const collection = rest.at(-2)!;
  const isRegional = scope === 'regions' && ['backendServices', 'healthChecks'].includes(collection);
  return `${isRegional ? `region${collection[0]!.toUpperCase()}${collection.slice(1)}` : collection}.${verb}`;
}

/** @throws CloudError `Invalid` */
function shownOf(fields: AnswerFields): Shown {
  return {
    path: pathOf(fields.text('selfLink')),
    name: fields.text('name'),
    id: fields.text('id'),
    wire: fields.json(),
  };
}

/** Of a link below its project. A link may begin in several ways. */
export function pathOf(link: string): string {
  return link.replace(/^.*?projects\/[^/]+\//, '').replace(/^\//, '');
}

function unreachable(zones: readonly string[]): Error {
  const message = `instance groups: ${zones.join(', ')} could not be reached`;
  return new CloudError({ kind: 'Unavailable', cloud, operation: 'instanceGroups.aggregatedList', message });
}

export type ForwardingRule = compute_v1.Schema$ForwardingRule;
export type BackendService = compute_v1.Schema$BackendService;
export type TargetPool = compute_v1.Schema$TargetPool;
export type HealthCheck = compute_v1.Schema$HealthCheck;
export type LegacyHealthCheck = compute_v1.Schema$HttpHealthCheck;
export type Firewall = compute_v1.Schema$Firewall;
export type Address = compute_v1.Schema$Address;
export type InstanceGroup = compute_v1.Schema$InstanceGroup;
export type Subnet = compute_v1.Schema$Subnetwork;
