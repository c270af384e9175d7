import { createHash } from 'node:crypto';
import { CloudError, type CloudErrorKind, isCloudError, kindOfHttpStatus } from '../../../common/cloud-error.ts';
import type { Clock } from '../../../common/process/clock.ts';
import type { HttpAnswer } from '../../../common/process/http.ts';
import { childOf, childrenOf, childText, type Xml } from '../../../common/xml.ts';
import type { Exchange } from '../exchange.ts';
import type { VCenterConfig } from './config.ts';
import type { Refusals } from './memory.ts';
import {
  type Fault,
  faultOf,
  printFilter,
  printRef,
  printRequest,
  printText,
  type Ref,
  type Row,
  readResponse,
  refOf,
  rowsOf,
} from './soap.ts';

export type VCenter = ReturnType<typeof createVCenter>;

interface Login {
  /** The managers of this vCenter by name; undefined until it has told them. */
  content: Xml | undefined;
  cookie: string;
  /** Of the REST API, which has sessions of its own. */
  token?: Promise<string>;
  uuid: string;
  /** Each shows all VMs of one datacenter, or of all, as they are when it is read. */
  readonly views: Ref[];
}

const limits = { timeoutMs: 30_000, maxBytes: 64 * 1024 * 1024 };
const pageSize = 500;
/**
 * vCenter locks a user after five refusals in three minutes, as it comes. Two processes show a wrong password four
 * times then.
 */
const refusalHoldsMs = 120_000;

/**
 * One vCenter with one user. Reads only. Every call has a deadline and fails with a CloudError; all share one session,
 * and log in again, once, when it turns out to have ended.
 *
 * @param refusals shared by all clients of the process, so that one that is opened again shows no password again
 */
export function createVCenter(config: VCenterConfig, exchange: Exchange, clock: Clock, refusals: Refusals) {
  const { server, port, user, password } = config;
  const base = `https://${server.includes(':') ? `[${server}]` : server}:${port}`;
  const credentialHash = createHash('sha256')
    .update(JSON.stringify([base, user, password]))
    .digest('hex');
  let current: Promise<Login> | undefined;
  let served: string | undefined;

  function failure(kind: CloudErrorKind, operation: string, message: string, cause?: Fault): CloudError {
    return new CloudError({ kind, cloud: 'vsphere', operation, message: `${server}: ${message}`, cause });
  }

  function statusFailure({ status }: HttpAnswer, operation: string, cause?: Fault): CloudError {
    return failure(status < 400 ? 'Unavailable' : kindOfHttpStatus(status), operation, String(status), cause);
  }

  /** One SOAP call to a manager; answers the response, and takes the cookie that comes with it. */
  async function call(login: Login, manager: string, method: string, body: string, signal?: AbortSignal): Promise<Xml> {
    const { content, cookie } = login;
    const self = content ? refOf(childOf(content, manager)) : { type: manager, value: manager };
    if (self === undefined) throw failure('Invalid', method, `it has no ${manager}`);
    // The oldest API that is still served; newer ones understand it.
    const headers = { 'content-type': 'text/xml; charset=utf-8', soapaction: 'urn:vim25/6.5', cookie };
    const request = { ...limits, method: 'POST', url: `${base}/sdk`, headers, body: printRequest(method, self, body) };
    const answer = await exchange(method, { ...request, signal }, { signal }, (given) => {
      // Faults come as 500.
      if (given.status !== 200 && given.status !== 500) throw statusFailure(given, method);
      login.cookie = /vmware_soap_session=[^;,]+/.exec(given.header('set-cookie') ?? '')?.[0] ?? cookie;
      if (given.status === 500) readResponse(given.text, method, server);
    });
    return readResponse(answer.text, method, server);
  }

  async function login(): Promise<Login> {
    throwIfRefused();
    const fresh: Login = { content: undefined, cookie: '', uuid: '', views: [] };
    fresh.content = childOf(await call(fresh, 'ServiceInstance', 'RetrieveServiceContent', ''), 'returnval');
    fresh.uuid = childText(childOf(fresh.content, 'about'), 'instanceUuid')?.toLowerCase() ?? '';
    if (fresh.uuid === '') throw failure('Invalid', 'RetrieveServiceContent', 'no instanceUuid: it is no vCenter');
    if (fresh.uuid !== (served ?? fresh.uuid))
      throw failure('Unauthorized', 'Login', `it is vCenter ${fresh.uuid} now, and this process serves ${served}`);
    const credential = printText('userName', user) + printText('password', password);
    // Another client of the process may have shown it meanwhile.
    throwIfRefused();
    await call(fresh, 'sessionManager', 'Login', credential).catch(rememberRefusal);
    served = fresh.uuid;
    try {
      await openViews(fresh);
    } catch (error) {
      // Each try would leave a session behind, and a vCenter has a limited number of them.
      void end(fresh);
      throw error;
    }
    return fresh;
  }

  async function openViews(fresh: Login): Promise<void> {
    const root = refOf(childOf(fresh.content, 'rootFolder'));
    const viewsOf = async (place: Ref | undefined, type: string) => {
      const body = `${place && printRef('container', place)}<type>${type}</type><recursive>true</recursive>`;
      const response = await call(fresh, 'viewManager', 'CreateContainerView', body);
      return childrenOf(response, 'returnval').flatMap((element) => refOf(element) ?? []);
    };
    const datacentersOf = async (name: string) => {
      const path = printText('inventoryPath', name.replace(/^\/+/, ''));
      const place = refOf(childOf(await call(fresh, 'searchIndex', 'FindByInventoryPath', path), 'returnval'));
      if (place?.type === 'Datacenter') return [place];
      if (name.includes('/')) return [];
      // The classic controller looks for a mere name in all folders.
      const filter = printFilter('Datacenter', ['name'], await viewsOf(root, 'Datacenter'));
      const rows = await retrieve(fresh, filter, undefined);
      return rows.filter(({ values }) => values.get('name')?.text === name).map(({ ref }) => ref);
    };
    const places = config.datacenters.length === 0 ? [root] : [];
    for (const name of config.datacenters) {
      const [place, ...others] = await datacentersOf(name);
      if (place === undefined) throw failure('Forbidden', 'Login', `${user} sees no datacenter ${name}`);
      const several = `${others.length + 1} datacenters are called ${name}, expected a path such as Folder/${name}`;
      if (others.length > 0) throw failure('Invalid', 'Login', several);
      places.push(place);
    }
    for (const place of places) fresh.views.push(...(await viewsOf(place, 'VirtualMachine')));
  }

  async function end(login: Login): Promise<void> {
    await call(login, 'sessionManager', 'Logout', '').catch(() => undefined);
  }

  function throwIfRefused(): void {
    const refused = refusals.get(credentialHash);
    if (refused === undefined) return;
    if (clock.monotonic() < refused.until) throw refused.error;
    refusals.delete(credentialHash);
  }

  /** So that the user is not locked. */
  function rememberRefusal(error: unknown): never {
    if (isCloudError(error) && error.kind === 'Unauthorized')
      refusals.set(credentialHash, { until: clock.monotonic() + refusalHoldsMs, error });
    throw error;
  }

  async function restCall(
    path: string,
    method: string,
    headers: Record<string, string>,
    more: object,
  ): Promise<unknown> {
    const operation = `${method} ${path.replace(/id:[^?]*/, '{id}')}`;
    const request = { ...limits, ...more, method, url: `${base}/rest/com/vmware/cis${path}`, headers };
    const answer = await exchange(operation, request, more);
    const ended = answer.status === 401 ? { fault: 'NotAuthenticated', ref: undefined } : undefined;
    if (answer.status !== 200) throw statusFailure(answer, operation, ended);
    try {
      return JSON.parse(answer.text).value;
    } catch {
      throw failure('Unavailable', operation, 'the answer is not JSON, or not all of it');
    }
  }

  async function restToken(): Promise<string> {
    throwIfRefused();
    const authorization = `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`;
    return String(await restCall('/session', 'POST', { authorization }, {}).catch(rememberRefusal));
  }

  /** The token of everybody, or the one that is under way; after a failure the next call asks again. */
  function tokenOf(login: Login): Promise<string> {
    if (login.token !== undefined) return login.token;
    const token = restToken();
    login.token = token;
    token.catch(() => delete login.token);
    return token;
  }

  async function retrieve(login: Login, filter: string, signal: AbortSignal | undefined): Promise<readonly Row[]> {
    const rows: Row[] = [];
    let method = 'RetrievePropertiesEx';
    let body = `${filter}<options><maxObjects>${pageSize}</maxObjects></options>`;
    for (;;) {
      const page = childOf(await call(login, 'propertyCollector', method, body, signal), 'returnval');
      const more = rowsOf(page);
      rows.push(...more);
      const token = childText(page, 'token');
      if (token === undefined) return rows;
      if (more.length === 0) throw failure('Unavailable', method, 'a page is empty that is not the last');
      method = 'ContinueRetrievePropertiesEx';
      body = printText('token', token);
    }
  }

  /** The login of everybody, or the one that is under way. */
  function open(): Promise<Login> {
    const opened = current ?? login();
    current = opened;
    opened.catch(() => leave(opened));
    return opened;
  }

  function leave(ended: Promise<Login>): void {
    // Another call may have logged in meanwhile.
    if (current === ended) current = undefined;
  }

  async function use<T>(work: (login: Login) => Promise<T>): Promise<T> {
    const opened = open();
    const known = await opened;
    try {
      return await work(known);
    } catch (error) {
      if (!isEndOfSession(error)) throw error;
      // Its views or its REST session may have ended alone, and a vCenter has a limited number of sessions.
      if (current === opened) void end(known);
      leave(opened);
      return work(await open());
    }
  }

  return {
    config,
    /** The vCenter's own id. Another one under the same name is refused from then on. */
    identify: () => use(async ({ uuid }) => uuid),
    /** VMs of the whole vCenter with this BIOS uuid, by its search index. */
    findByUuid: (uuid: string, signal?: AbortSignal): Promise<readonly Ref[]> =>
      use(async (login) => {
        const body = `${printText('uuid', uuid)}<vmSearch>true</vmSearch><instanceUuid>false</instanceUuid>`;
        const response = await call(login, 'searchIndex', 'FindAllByUuid', body, signal);
        return childrenOf(response, 'returnval').flatMap((element) => refOf(element) ?? []);
      }),
    /** Properties of all VMs in the configured datacenters: all pages, or a failure. */
    list: (paths: readonly string[], signal?: AbortSignal) =>
      use((login) => retrieve(login, printFilter('VirtualMachine', paths, login.views), signal)),
    /** Properties of these objects. One that is no more is a failure of all. */
    retrieve: (type: string, paths: readonly string[], refs: readonly Ref[], signal?: AbortSignal) =>
      use((login) => retrieve(login, printFilter(type, paths, refs), signal)),
    /** One call to the REST API; answers the `value`. */
    rest: (method: 'GET' | 'POST', path: string, body?: unknown, signal?: AbortSignal) =>
      use(async (login) => {
        const headers = { 'vmware-api-session-id': await tokenOf(login), 'content-type': 'application/json' };
        return restCall(
          path,
          method,
          headers,
          body === undefined ? { signal } : { signal, body: JSON.stringify(body) },
        );
      }),
    /** Ends the session, if there is one. Does not fail. */
    async logout() {
      const known = await current?.catch(() => undefined);
      current = undefined;
      if (known) await end(known);
    },
  };
}

/** A view ends with the session that made it. */
function isEndOfSession(error: unknown): boolean {
  const fault = faultOf(error);
  return fault?.fault === 'NotAuthenticated' || fault?.ref?.type === 'ContainerView';
}
