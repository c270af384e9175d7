import type { compute_v1 } from '@googleapis/compute';
import { CloudError, isCloudError } from '../../../../common/cloud-error.ts';
import type { ReadIo, WriteIo } from '../../../engine/resource.ts';
import type { AnswerFields } from '../../answer-fields.ts';
import type { ApiRequest } from '../../json-api.ts';
import { type GceClient, lastSegment } from '../client.ts';
import { cloud, saysMissing } from '../fault.ts';
import { provedMissing } from '../vms.ts';
import { anyName } from './names.ts';

/** A resource as the API shows it. */
export interface Shown<W = unknown> {
  /** Below the project: `regions/us-central1/forwardingRules/a1`. */
  readonly path: string;
  readonly name: string;
  /** The number that no other resource ever gets, even under the same name. */
  readonly id: string;
  readonly wire: W;
  /** Of an instance group: paths. */
  readonly instances?: readonly string[];
}

export type WriteParts = Pick<WriteIo, 'permit' | 'signal'>;

/** The resources that load balancers consist of, in one region of one project. */
export interface Project {
  readonly region: string;
  readonly isShared: boolean;
  /** From the newest read or answer. */
  at(path: string): Shown | undefined;
  all(): Iterable<Shown>;
  /** Paths of instance groups. */
  groups(): Iterable<string>;
  /**
   * Path of what no list here shows and the cloud named as a user when that was to be deleted: an Ingress's
   * backend.
   */
  otherUserOf(path: string): string | undefined;
  /**
   * Reads every resource with such a name, all backends and all addresses.
   *
   * @param names a regular expression, of RE2, too
   */
  read(names: string, urgency: 'need' | 'refresh', io: ReadIo): Promise<readonly Shown[]>;
  /** `projects/p/` and the path. */
  url(path: string): string;
  /** Of the network, and of a subnet of it. */
  networkUrl(): Promise<string>;
  subnetUrl(name: string): Promise<string>;
  /** Each makes a change, waits for its operation, and answers the resource as it is then. */
  insert(collection: string, wire: { readonly name: string }, io: WriteParts): Promise<Shown>;
  patch(path: string, wire: object, io: WriteParts): Promise<Shown>;
  act(path: string, verb: string, wire: object, io: WriteParts): Promise<Shown>;
  /** Done as well where it is gone already. */
  remove(path: string, io: WriteParts): Promise<void>;
}

export interface ProjectParts {
  readonly client: GceClient;
  readonly region: string;
  /** The network is of another project. */
  readonly isShared: boolean;
  /** Id of the project. Throws a CloudError. */
  project(): string;
  network(): Promise<{ readonly project: string; readonly name: string }>;
}

export function createProject({ client, region, isShared, project, network }: ProjectParts): Project {
  const known = new Map<string, { readonly shown: Shown | undefined; readonly order: number }>();
  const groupPaths = new Set<string>();
  const otherUsers = new Map<string, string>();
  let order = 0;
  const inRegion = (collection: string) => `regions/${region}/${collection}`;
  const everything = [
    ...['forwardingRules', 'backendServices', 'targetPools', 'healthChecks', 'addresses'].map(inRegion),
    ...['global/healthChecks', 'global/httpHealthChecks', ...(isShared ? [] : ['global/firewalls'])],
  ];
  const whole = (path: string) => `/projects/${project()}/${path}`;

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
    const members = await client.list({
      ...request,
      ...{ method: 'POST', path: `${whole(group.path)}/listInstances`, body: { instanceState: 'ALL' } },
      operation: 'instanceGroups.listInstances',
    });
    return { ...group, instances: members.map((one) => pathOf(one.text('instance'))).sort() };
  }

  async function reread(path: string, signal: AbortSignal | undefined): Promise<Shown> {
    const request = { urgency: 'change', signal } as const;
    const operation = operationOf(path, 'get');
    const read = shownOf(await client.call({ ...request, path: whole(path), operation }));
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
      throw provedMissing(error, path);
    });
    return reread(path, io.signal);
  }

  return {
    ...{ region, isShared },
    at: (path) => known.get(path)?.shown,
    *all() {
      for (const { shown } of known.values()) if (shown !== undefined) yield shown;
    },
    groups: () => groupPaths,
    otherUserOf: (path) => otherUsers.get(path),
    async read(names, urgency, { signal }) {
      order += 1;
      const began = order;
      // It may be unused since: the next removal asks the cloud again.
      if (urgency === 'refresh') otherUsers.clear();
      // What shares a health check or a group with others is known by all backends.
      const namesOf = (path: string) => (/backendServices|targetPools/.test(path) ? anyName : names);
      const filterOf = (path: string) => ['filter', `name eq "${namesOf(path)}"`] as const;
      const lists = everything.map(async (path) => {
        const query = path.endsWith('/addresses') ? [] : [filterOf(path)];
        const operation = operationOf(`${path}/`, 'list');
        return (await client.list({ path: whole(path), query, operation, urgency, signal })).map(shownOf);
      });
      const read = await Promise.all([...lists, groups(filterOf(''), { urgency, signal })]);
      const patterns = new Map([names, anyName].map((one) => [one, new RegExp(`^(?:${one})$`)]));
      // A server may not know filters.
      const isAsked = ({ path, name }: Shown) =>
        path.includes('/addresses/') || patterns.get(namesOf(path))!.test(name);
      const shown = read.flat().filter(isAsked);
      const paths = new Set(shown.map(({ path }) => path));
      for (const one of shown) note(one.path, one, began);
      for (const [path, { shown: one }] of known)
        if (one !== undefined && isAsked(one) && !paths.has(path)) note(path, undefined, began);
      return shown.flatMap(({ path }) => known.get(path)?.shown ?? []);
    },
    url: (path) => `projects/${project()}/${path}`,
    async networkUrl() {
      const { project: host, name } = await network();
      return `projects/${host}/global/networks/${name}`;
    },
    subnetUrl: async (name) => `projects/${(await network()).project}/regions/${region}/subnetworks/${name}`,
    insert(collection, wire, io) {
      const path = `${collection}/${wire.name}`;
      const operation = operationOf(path, 'insert');
      return change(path, { method: 'POST', path: whole(collection), operation, body: wire }, io);
    },
    patch: (path, body, io) =>
      change(path, { method: 'PATCH', path: whole(path), operation: operationOf(path, 'patch'), body }, io),
    act: (path, verb, body, io) =>
      change(path, { method: 'POST', path: `${whole(path)}/${verb}`, operation: operationOf(path, verb), body }, io),
    async remove(path, io) {
      try {
        await client.change({ method: 'DELETE', path: whole(path), operation: operationOf(path, 'delete') }, io);
      } catch (error) {
        const user = userIn(error);
        // What was ours may count as a user for a moment after its end.
        if (user !== undefined && !known.has(user)) otherUsers.set(path, user);
        if (!saysMissing(error, path)) throw provedMissing(error, path);
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

const isGroup = (path: string) => path.includes('/instanceGroups/');

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
