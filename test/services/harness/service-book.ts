import type { KubeApiCore } from '../../kit/kube-api/kube-api-core.ts';
import { adminClient } from '../../kit/kube-api/testing/admin-client.ts';

export interface RawService {
  readonly metadata: {
    readonly name: string;
    readonly uid: string;
    readonly resourceVersion: string;
    readonly deletionTimestamp?: string;
    readonly finalizers?: readonly string[];
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly spec: Readonly<Record<string, unknown>> & {
    readonly type: string;
    readonly ports: readonly { readonly port: number; readonly nodePort?: number; readonly protocol: string }[];
    readonly healthCheckNodePort?: number;
  };
  readonly status: {
    readonly loadBalancer: {
      readonly ingress?: readonly {
        readonly ip?: string;
        readonly hostname?: string;
        readonly ipMode?: string;
        readonly ports?: readonly object[];
      }[];
    };
    readonly conditions?: readonly {
      readonly type: string;
      readonly status: string;
      readonly reason: string;
      readonly message: string;
      readonly lastTransitionTime: string;
    }[];
  };
}

export interface NewService {
  readonly spec?: object;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly finalizers?: readonly string[];
}

/** What people do to Services of the namespace default. None of it is counted as the controller's. */
export interface ServiceBook {
  /** Type LoadBalancer with port 80, unless told otherwise. */
  create(name: string, service?: NewService): RawService;
  get(name: string): RawService | undefined;
  /** Throws when it is not there. */
  must(name: string): RawService;
  names(): string[];
  patch(name: string, body: object): RawService;
  patchStatus(name: string, body: object): RawService;
  annotate(name: string, annotations: Readonly<Record<string, string | null>>): RawService;
  delete(name: string): void;
  addresses(name: string): string[];
  condition(name: string): { readonly status: string; readonly reason: string; readonly message: string } | undefined;
}

const path = '/api/v1/namespaces/default/services';

export function serviceBook(core: KubeApiCore): ServiceBook {
  const ask = adminClient(core, 'person');

  function some<T>(value: T | undefined, what: string): T {
    if (value === undefined) throw new Error(`no ${what}`);
    return value;
  }

  const merge = 'application/merge-patch+json';
  const book: ServiceBook = {
    create(name, { spec = {}, annotations, finalizers } = {}) {
      const metadata = { name, ...(annotations && { annotations }), ...(finalizers && { finalizers }) };
      const ports = [{ name: 'http', port: 80, targetPort: 8080, protocol: 'TCP' }];
      const all = { type: 'LoadBalancer', selector: { app: name }, ports, ...spec };
      return some(ask<RawService>('POST', path, { apiVersion: 'v1', kind: 'Service', metadata, spec: all }), name);
    },
    get: (name) => ask<RawService>('GET', `${path}/${name}`),
    must: (name) => some(book.get(name), `Service ${name}`),
    names: () => some(ask<{ items: RawService[] }>('GET', path), 'list').items.map(({ metadata }) => metadata.name),
    patch: (name, body) => some(ask<RawService>('PATCH', `${path}/${name}`, body, merge), name),
    patchStatus: (name, body) => some(ask<RawService>('PATCH', `${path}/${name}/status`, body, merge), name),
    annotate: (name, annotations) => book.patch(name, { metadata: { annotations } }),
    delete(name) {
      ask('DELETE', `${path}/${name}`);
    },
    addresses: (name) =>
      (book.get(name)?.status.loadBalancer.ingress ?? []).map(({ ip, hostname }) => ip ?? hostname ?? ''),
    condition: (name) => book.get(name)?.status.conditions?.find(({ type }) => type === 'CloudLoadBalancer'),
  };
  return book;
}
