import { randomUUID } from 'node:crypto';
import type { Http, HttpAnswer } from '../../../../common/process/http.ts';
import { childOf, childrenOf, childText, escapeXml, parseXml, type Xml } from '../../../../common/xml.ts';

export interface FakeVm {
  uuid: string;
  name: string;
  hostName?: string;
  power?: 'poweredOn' | 'poweredOff' | 'suspended';
  addresses?: readonly string[];
  host?: string;
  datacenter?: string;
  /** Not shown to the user any more, though it is there. */
  hidden?: boolean;
}

/** A vCenter in this process, as far as nodes need one: what a real one cannot be made to do on demand. */
export interface FakeVCenter {
  readonly http: Http;
  readonly uuid: string;
  /** By object: `vm-1`. */
  readonly vms: Map<string, FakeVm>;
  /** Categories and tags by object: `host-1` → `{zone: 'a'}`. */
  readonly tags: Map<string, Record<string, string>>;
  /** Every call in order: SOAP methods, and `POST /session`. */
  readonly calls: string[];
  /** The passwords that were shown. */
  readonly passwords: string[];
  password: string;
  pageSize: number;
  /** Answers in place of the vCenter; undefined lets it answer. */
  fault: ((call: string, body: string) => HttpAnswer | undefined) | undefined;
  endSessions(): void;
}

export function answerOf(status: number, text: string, headers: Record<string, string> = {}): HttpAnswer {
  return { status, text, header: (name) => headers[name.toLowerCase()] ?? null };
}

/** A fault as vCenter words it. */
export function faultAnswer(name: string, inside = ''): HttpAnswer {
  const detail = `<${name}Fault xmlns="urn:vim25" xsi:type="${name}">${inside}</${name}Fault>`;
  const words = `<faultcode>ServerFaultCode</faultcode><faultstring>what ${name} means</faultstring>`;
  return answerOf(500, envelope(`<soapenv:Fault>${words}<detail>${detail}</detail></soapenv:Fault>`));
}

function envelope(body: string): string {
  const spaces =
    'xmlns:soapenv="http://schemas.xmlsoap.org/soap/envelope/" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"';
  const whole = `<soapenv:Envelope ${spaces}><soapenv:Body>${body}</soapenv:Body></soapenv:Envelope>`;
  return `<?xml version="1.0" encoding="UTF-8"?>\n${whole}`;
}

/** Where things are: VMs on hosts, hosts in a cluster, all in datacenters. */
const parents: Readonly<Record<string, string>> = {
  'HostSystem:host-1': 'ClusterComputeResource:cluster-1',
  'HostSystem:host-2': 'ClusterComputeResource:cluster-1',
  'ClusterComputeResource:cluster-1': 'Folder:group-h1',
  'ResourcePool:pool-1': 'ClusterComputeResource:cluster-1',
  'Folder:group-h1': 'Datacenter:datacenter-1',
  'Folder:group-v1': 'Datacenter:datacenter-1',
  'Datacenter:datacenter-1': 'Folder:group-d1',
};
const datacenters: Readonly<Record<string, string>> = {
  DC1: 'datacenter-1',
  DC2: 'datacenter-2',
  'Europe/DC3': 'datacenter-3',
  'Europe/DC4': 'datacenter-4',
  'Asia/DC4': 'datacenter-5',
};

export function fakeVCenter(uuid: string = randomUUID()): FakeVCenter {
  const sessions = new Map<string, { readonly views: Map<string, string> }>();
  const tokens = new Set<string>();
  let pages: string[] = [];
  const fake: FakeVCenter = {
    uuid,
    vms: new Map(),
    tags: new Map(),
    calls: [],
    passwords: [],
    password: 'pass',
    pageSize: 500,
    fault: undefined,
    endSessions() {
      sessions.clear();
      tokens.clear();
    },
    async http(request) {
      const body = request.body ?? '';
      const isRest = request.url.includes('/rest/com/vmware/cis');
      const call = isRest
        ? `${request.method} ${request.url.replace(/^.*cis/, '')}`
        : (childOf(parseXml(body), 'Body')?.children[0]?.name ?? '');
      fake.calls.push(call);
      const answer = fake.fault?.(call, body);
      if (answer !== undefined) return answer;
      return isRest
        ? rest(call, body, request.headers ?? {})
        : soap(childOf(parseXml(body), 'Body')!.children[0]!, request.headers ?? {});
    },
  };
  const ref = (element: string, [type, value]: readonly string[]) => `<${element} type="${type}">${value}</${element}>`;
  const visible = () => [...fake.vms].filter(([, vm]) => !vm.hidden);

  function vmProperty([id, vm]: readonly [string, FakeVm], path: string): string | undefined {
    const value = (text: string | undefined) => (text === undefined ? undefined : `<val>${escapeXml(text)}</val>`);
    const nics = (vm.addresses ?? []).map((address) => `<ipAddress>${address}</ipAddress>`).join('');
    const device = '<network>VM Network</network><deviceConfigId>4000</deviceConfigId>';
    const nic = `<GuestNicInfo>${device}${nics}</GuestNicInfo>`;
    switch (path) {
      case 'summary.config.uuid':
        return value(vm.uuid);
      case 'summary.config.name':
      case 'name':
        return value(vm.name);
      case 'guest.hostName':
        return value(vm.hostName ?? vm.name);
      case 'guest.ipAddress':
        return value(vm.addresses?.[0]);
      case 'guest.net':
        return `<val xsi:type="ArrayOfGuestNicInfo">${vm.addresses === undefined ? '' : nic}</val>`;
      case 'runtime.powerState':
        return value(vm.power ?? 'poweredOn');
      case 'summary.config.numCpu':
        return value('4');
      case 'summary.config.memorySizeMB':
        return value('8191');
      case 'summary.config.guestId':
        return value('ubuntu64Guest');
      case 'runtime.host':
        return ref('val', ['HostSystem', vm.host ?? 'host-1']);
      case 'resourcePool':
        return ref('val', ['ResourcePool', 'pool-1']);
      case 'parent':
        return ref('val', ['Folder', 'group-v1']);
    }
    return id === '' ? '' : undefined;
  }

  function rows(filter: Xml | undefined, views: ReadonlyMap<string, string>): string[] | HttpAnswer {
    const wanted = childOf(filter, 'propSet');
    const paths = childrenOf(wanted, 'pathSet').map(({ text }) => text);
    const found: string[] = [];
    for (const set of childrenOf(filter, 'objectSet')) {
      const { attributes, text } = childOf(set, 'obj')!;
      const type = attributes['type']!;
      if (type === 'ContainerView') {
        const place = views.get(text);
        if (place === undefined) return faultAnswer('ManagedObjectNotFound', ref('obj', [type, text]));
        if (childText(wanted, 'type') === 'Datacenter') {
          for (const [path, id] of Object.entries(datacenters))
            found.push(row(['Datacenter', id], () => `<val>${path.split('/').at(-1)}</val>`));
          continue;
        }
        const inside = visible().filter(
          ([, vm]) => place === 'group-d1' || datacenters[vm.datacenter ?? 'DC1'] === place,
        );
        for (const entry of inside) found.push(row(['VirtualMachine', entry[0]], (path) => vmProperty(entry, path)));
      } else if (type === 'VirtualMachine') {
        const vm = fake.vms.get(text);
        if (vm === undefined) return faultAnswer('ManagedObjectNotFound', ref('obj', [type, text]));
        if (vm.hidden) return faultAnswer('NoPermission', ref('object', [type, text]));
        found.push(row([type, text], (path) => vmProperty([text, vm], path)));
      } else {
        const parent = parents[`${type}:${text}`];
        found.push(row([type, text], () => parent && ref('val', parent.split(':'))));
      }
    }
    return found;

    function row(self: readonly string[], value: (path: string) => string | undefined): string {
      const properties = paths.flatMap((path) => {
        const one = value(path);
        return one === undefined ? [] : `<propSet><name>${escapeXml(path)}</name>${one}</propSet>`;
      });
      return `<objects>${ref('obj', self)}${properties.join('')}</objects>`;
    }
  }

  function soap(method: Xml, headers: Readonly<Record<string, string>>): HttpAnswer {
    const ok = (inside: string, more: Record<string, string> = {}) =>
      answerOf(200, envelope(`<${method.name}Response xmlns="urn:vim25">${inside}</${method.name}Response>`), more);
    const session = sessions.get(headers['cookie'] ?? '');
    if (method.name === 'RetrieveServiceContent') {
      const managers = ['propertyCollector', 'viewManager', 'searchIndex', 'sessionManager'].map((one) =>
        ref(one, [one, one]),
      );
      const about = `<about><instanceUuid>${fake.uuid}</instanceUuid></about>`;
      return ok(`<returnval>${ref('rootFolder', ['Folder', 'group-d1'])}${managers.join('')}${about}</returnval>`);
    }
    if (method.name === 'Login') {
      fake.passwords.push(childText(method, 'password') ?? '');
      if (fake.passwords.at(-1) !== fake.password) return faultAnswer('InvalidLogin');
      const cookie = `vmware_soap_session="${randomUUID()}"`;
      sessions.set(cookie, { views: new Map() });
      return ok('<returnval><userName>user</userName></returnval>', {
        'set-cookie': `${cookie}; Path=/; HttpOnly; Secure`,
      });
    }
    if (session === undefined) return faultAnswer('NotAuthenticated');
    switch (method.name) {
      case 'Logout':
        sessions.delete(headers['cookie'] ?? '');
        return ok('');
      case 'FindByInventoryPath': {
        const place = datacenters[childText(method, 'inventoryPath') ?? ''];
        return ok(place === undefined ? '' : ref('returnval', ['Datacenter', place]));
      }
      case 'CreateContainerView': {
        const view = `session[${randomUUID()}]`;
        session.views.set(view, childText(method, 'container') ?? '');
        return ok(ref('returnval', ['ContainerView', view]));
      }
      case 'FindAllByUuid': {
        const hits = visible().filter(([, vm]) => vm.uuid === childText(method, 'uuid'));
        return ok(hits.map(([id]) => ref('returnval', ['VirtualMachine', id])).join(''));
      }
      case 'RetrievePropertiesEx': {
        const found = rows(childOf(method, 'specSet'), session.views);
        if (!Array.isArray(found)) return found;
        pages = found;
        return ok(page());
      }
      case 'ContinueRetrievePropertiesEx':
        return ok(page());
    }
    return faultAnswer('MethodNotFound');

    function page(): string {
      const mine = pages.splice(0, fake.pageSize);
      return `<returnval>${pages.length > 0 ? '<token>t</token>' : ''}${mine.join('')}</returnval>`;
    }
  }

  function rest(call: string, body: string, headers: Readonly<Record<string, string>>): HttpAnswer {
    const ok = (value: unknown) => answerOf(200, JSON.stringify({ value }));
    if (call === 'POST /session') {
      const expected = `Basic ${Buffer.from(`user:${fake.password}`).toString('base64')}`;
      if (headers['authorization'] !== expected) return answerOf(401, '{}');
      const token = randomUUID();
      tokens.add(token);
      return ok(token);
    }
    if (!tokens.has(headers['vmware-api-session-id'] ?? '')) return answerOf(401, '{}');
    const id = /id:(.*)$/.exec(call)?.[1] ?? '';
    if (call.startsWith('GET /tagging/category/')) return ok({ id, name: id.slice('category-'.length) });
    if (call.startsWith('GET /tagging/tag/')) {
      const [category, name] = id.split('=');
      return ok({ id, name, category_id: `category-${category}` });
    }
    const { object_ids } = JSON.parse(body) as { object_ids: { id: string; type: string }[] };
    const tagged = object_ids.map((object_id) => {
      const tags = Object.entries(fake.tags.get(object_id.id) ?? {}).map(([category, name]) => `${category}=${name}`);
      return { object_id, tag_ids: tags.length > 0 ? tags : null };
    });
    return ok(tagged);
  }

  return fake;
}
