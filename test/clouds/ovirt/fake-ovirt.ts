import { escapeXml } from '../../../common/xml.ts';
import { type FakeAnswer, httpOf, type ReceivedCall } from '../fake-http.ts';
import { createInventory, type FakeInventory, type FakeVm, nicOf, placesOf, vmOf, type Wire } from './fake-vms.ts';

export const [user, password] = ['mooring@internal', 'correct horse+battery'];
export const engineId = '5c3f9d0a-7e1b-4f6d-8a2c-3b4d5e6f7081';
const base = '/ovirt-engine/api';

export interface FakeOvirt extends FakeInventory {
  readonly calls: ReceivedCall[];
  readonly http: ReturnType<typeof httpOf>;
  answer(call: ReceivedCall): FakeAnswer;
  /** Instead of an answer of its own, for calls to the API. */
  fault: ((call: ReceivedCall) => FakeAnswer | undefined) | undefined;
  /** The engine knows another password from now on. */
  refuses: boolean;
  logins(): number;
  /** Ends every token, as time without use does. */
  endTokens(): void;
}

/** An engine of oVirt 4.5: its single sign-on, and reads in JSON or XML. */
export function createFakeOvirt(): FakeOvirt {
  const inventory = createInventory();
  const calls: ReceivedCall[] = [];
  const tokens = new Set<string>();
  let logins = 0;

  function logIn({ text, headers }: ReceivedCall): FakeAnswer {
    logins += 1;
    if (!/form-urlencoded/.test(headers['content-type'] ?? '')) return { status: 415 };
    const form = new URLSearchParams(text);
    const isRight = form.get('username') === user && form.get('password') === password && !fake.refuses;
    if (form.get('grant_type') !== 'password' || form.get('scope') !== 'ovirt-app-api' || !isRight) {
      const error = 'Cannot authenticate user: the user name or password is incorrect.';
      return { status: 401, headers: json, body: { error, error_code: 'access_denied' } };
    }
    const token = `token-${logins}`;
    tokens.add(token);
    return {
      status: 200,
      headers: json,
      body: { access_token: token, exp: '9223372036854775807', token_type: 'bearer' },
    };
  }

  function read({ path, query }: ReceivedCall): { readonly root: string; readonly value: Wire } | FakeAnswer {
    const withNics = (query.get('follow') ?? '').split(',').includes('nics');
    const [, kind = '', id, part] = path.slice(base.length).split('/');
    if (kind === '') {
      const version = { full_version: '4.5.6-1.el9', major: '4', minor: '5' };
      const product_info = { instance_id: engineId, name: 'oVirt Engine', vendor: 'ovirt.org', version };
      return { root: 'api', value: { product_info, link: [{ rel: 'vms', href: `${base}/vms` }] } };
    }
    const places = placesOf[`/${kind}`];
    if (places !== undefined && id === undefined)
      return { root: kind === 'datacenters' ? 'data_centers' : kind, value: places };
    if (kind !== 'vms') return notFound;
    if (id === undefined) {
      const found = search([...inventory.vms.values()], query);
      if (found === undefined) return fault(400, 'Operation Failed', 'Bad search expression');
      // An empty collection has no key.
      return { root: 'vms', value: found.length === 0 ? {} : { vm: found.map((vm) => vmOf(vm, withNics)) } };
    }
    const vm = inventory.vms.get(id);
    if (vm === undefined) return notFound;
    if (part === 'nics') return { root: 'nics', value: { nic: [nicOf(id, vm.addresses)] } };
    return part === undefined ? { root: 'vm', value: vmOf(vm, withNics) } : notFound;
  }

  function answer(call: ReceivedCall): FakeAnswer {
    calls.push(call);
    const { path, method, authorization, headers } = call;
    if (path === '/ovirt-engine/sso/oauth/token' && method === 'POST') return logIn(call);
    if (/^\/ovirt-engine\/services\/sso-logout$/.test(path)) return { status: 200, headers: json, body: {} };
    const instead = fake.fault?.(call);
    if (instead !== undefined) return instead;
    const isJson = /json/.test(headers['accept'] ?? '');
    if (!tokens.has(authorization.replace(/^Bearer /, '')))
      return render(fault(401, 'Unauthorized', 'The access token has expired'), isJson);
    if (!path.startsWith(base)) return { status: 404, headers: { 'content-type': 'text/html' }, body: '<html/>' };
    if (method !== 'GET')
      return render(fault(403, 'Forbidden', 'User is not authorized to perform this action'), isJson);
    return render(read(call), isJson);
  }

  const fake: FakeOvirt = {
    ...inventory,
    calls,
    answer,
    fault: undefined,
    refuses: false,
    logins: () => logins,
    endTokens: () => tokens.clear(),
    http: httpOf((call) => fake.answer(call)),
  };
  return fake;
}

const json = { 'content-type': 'application/json;charset=UTF-8' };

interface Fault extends FakeAnswer {
  readonly reason: string;
  readonly detail: string;
}

function fault(status: number, reason: string, detail: string): Fault {
  return { status, reason, detail };
}

const notFound = fault(404, 'Operation Failed', 'Entity not found: null');

function render(found: { readonly root: string; readonly value: Wire } | FakeAnswer, isJson: boolean): FakeAnswer {
  const isAnswer = 'status' in found;
  const { root, value } = isAnswer ? { root: 'fault', value: faultBody(found as Fault) } : found;
  const status = isAnswer ? found.status : 200;
  if (isJson) return { status, headers: json, body: value };
  const body = `<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n${xmlOf(root, value)}`;
  return { status, headers: { 'content-type': 'application/xml;charset=UTF-8' }, body };
}

const faultBody = ({ reason, detail }: Fault): Wire => ({ detail, reason });

/** Ids and references are attributes. */
function xmlOf(name: string, value: unknown): string {
  if (Array.isArray(value)) return value.map((one) => xmlOf(name, one)).join('');
  if (typeof value !== 'object' || value === null) return `<${name}>${escapeXml(String(value))}</${name}>`;
  const entries = Object.entries(value);
  const isAttribute = (key: string) => ['id', 'href', 'rel'].includes(key);
  const attributes = entries
    .filter(([key]) => isAttribute(key))
    .map(([key, one]) => ` ${key}="${escapeXml(String(one))}"`);
  const children = entries.filter(([key]) => !isAttribute(key)).map(([key, one]) => xmlOf(key, one));
  return `<${name}${attributes.join('')}>${children.join('')}</${name}>`;
}

/** The few words of the engine's search that the tests use; undefined for any other. */
function search(all: readonly FakeVm[], query: URLSearchParams): readonly FakeVm[] | undefined {
  const match = /^(.*?)\s*(?:sortby name asc)?\s*(?:page (\d+))?$/.exec(query.get('search') ?? '');
  const terms = (match?.[1] ?? '').split(' or ').filter((term) => term !== '');
  const tests = terms.map((term) => /^(name|fqdn)=([\w.*-]+)$/.exec(term));
  if (match === null || tests.includes(null)) return undefined;
  const hits = all.filter((vm) => {
    const isHit = (test: RegExpExecArray | null) => {
      const value = test![1] === 'name' ? vm.name : (vm.fqdn ?? '');
      return new RegExp(`^${test![2]!.replaceAll('.', '\\.').replaceAll('*', '.*')}$`, 'i').test(value);
    };
    return tests.length === 0 || tests.some(isHit);
  });
  const sorted = hits.toSorted((one, other) => (one.name < other.name ? -1 : 1));
  const max = Number(query.get('max') ?? hits.length) || hits.length;
  const start = (Number(match[2] ?? 1) - 1) * max;
  return sorted.slice(start, start + max);
}
