import { isIPv4 } from 'node:net';

export const endpointSlicesPath = '/apis/discovery.k8s.io/v1/endpointslices';
/** Arrays of an EndpointSlice that `viewEndpointSlice` does not read. */
export const unreadOfEndpointSlice = ['managedFields', 'forZones', 'forNodes'];

/** A pod that takes connections. */
export interface Endpoint {
  readonly address: string;
  /** Begin of its UID: another pod may get the same address. */
  readonly pod: string;
}

/** The ready endpoints of one slice: a trimmed copy. */
export interface EndpointSliceView {
  /** `namespace/name`, of the slice. */
  readonly key: string;
  /** `namespace/name`; undefined: it is of no Service. */
  readonly service: string | undefined;
  /** Of each endpoint, by the name of the Service's port and the protocol: `http TCP`. */
  readonly ports: ReadonlyMap<string, number>;
  /** For `endpointsIn`. One text, because a cluster may have hundreds of thousands of endpoints. */
  readonly ready: string;
}

export function endpointsIn({ ready }: EndpointSliceView): readonly Endpoint[] {
  if (ready === '') return [];
  return ready.split(',').map((one) => {
    const [address = '', pod = ''] = one.split(' ');
    return { address, pod };
  });
}

interface RawSlice {
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly labels?: Readonly<Record<string, string>>;
  };
  readonly addressType?: string;
  readonly endpoints?:
    | readonly {
        readonly addresses?: readonly string[];
        readonly conditions?: { readonly ready?: boolean | null; readonly terminating?: boolean | null };
        readonly targetRef?: { readonly kind?: string; readonly namespace?: string; readonly uid?: string };
      }[]
    | null;
  readonly ports?:
    | readonly { readonly name?: string | null; readonly protocol?: string; readonly port?: number | null }[]
    | null;
}

/** Of pods of its namespace alone, by IPv4. One that terminates is not ready, and one without a condition is. */
export function viewEndpointSlice(raw: unknown): EndpointSliceView {
  const { metadata, addressType, endpoints, ports } = raw as RawSlice;
  const { name, namespace = '', labels = {} } = metadata;
  const service = labels['kubernetes.io/service-name'];
  const isRead = service !== undefined && addressType === 'IPv4';
  return {
    key: `${namespace}/${name}`,
    service: service && `${namespace}/${service}`,
    ports: new Map(
      (ports ?? []).flatMap((one) =>
        typeof one.port === 'number' ? [[`${one.name ?? ''} ${one.protocol ?? 'TCP'}`, one.port] as const] : [],
      ),
    ),
    ready: (isRead ? (endpoints ?? []) : [])
      .flatMap(({ addresses, conditions, targetRef }) => {
        // The others of one endpoint are the same pod.
        const address = addresses?.[0] ?? '';
        const isReady = (conditions?.ready ?? true) && conditions?.terminating !== true && isIPv4(address);
        const isPod = targetRef?.kind === 'Pod' && targetRef.namespace === namespace;
        return isReady && isPod ? [`${address} ${(targetRef.uid ?? '').slice(0, 13)}`] : [];
      })
      .join(),
  };
}
