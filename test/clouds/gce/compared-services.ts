import type { DesiredLoadBalancer, DesiredPort } from '../../../controller/clouds/load-balancers.ts';

/** A Service as both controllers get it. */
export interface ComparedService {
  readonly name: string;
  readonly uid: string;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly ports: readonly { readonly port: number; readonly protocol?: 'TCP' | 'UDP' }[];
  /** `externalTrafficPolicy: Local` with this port for health checks. */
  readonly localPort?: number;
  readonly hasAffinity?: true;
  readonly sourceRanges?: readonly string[];
}

const internal = { 'networking.gke.io/load-balancer-type': 'Internal' };
const uidOf = (at: number) => `${at}e1f0a3c-90b2-4c3d-8e7f-000000000001`;

/** Ten Services that ask for different things. */
export const comparedServices: readonly ComparedService[] = (
  [
    { name: 'plain', ports: [{ port: 80 }] },
    { name: 'two-ports', ports: [{ port: 80 }, { port: 443 }], sourceRanges: ['192.0.2.0/24', '198.51.100.0/25'] },
    { name: 'udp', ports: [{ port: 53, protocol: 'UDP' }] },
    { name: 'local', ports: [{ port: 8080 }], localPort: 32_100 },
    { name: 'affinity', ports: [{ port: 81 }], hasAffinity: true },
    { name: 'standard', ports: [{ port: 82 }], annotations: { 'cloud.google.com/network-tier': 'Standard' } },
    { name: 'internal', ports: [{ port: 83 }], annotations: internal },
    { name: 'internal-local', ports: [{ port: 84, protocol: 'UDP' }], annotations: internal, localPort: 32_101 },
    {
      name: 'internal-wide',
      ports: [{ port: 85 }],
      hasAffinity: true,
      sourceRanges: ['10.0.0.0/8'],
      annotations: {
        ...internal,
        'networking.gke.io/internal-load-balancer-allow-global-access': 'true',
        'networking.gke.io/internal-load-balancer-subnet': 'other',
      },
    },
    { name: 'internal-many', ports: [1, 2, 3, 4, 6, 9].map((port) => ({ port })), annotations: internal },
  ] satisfies Omit<ComparedService, 'uid'>[]
).map((service, at) => ({ ...service, uid: uidOf(at) }));

const nodePort = 30_080;

/** As the API server has it. */
export function objectOf({ name, uid, annotations, ports, localPort, hasAffinity, sourceRanges }: ComparedService) {
  return {
    metadata: { namespace: 'default', name, uid, annotations: annotations ?? {} },
    spec: {
      type: 'LoadBalancer',
      sessionAffinity: hasAffinity ? 'ClientIP' : 'None',
      ports: ports.map(({ port, protocol = 'TCP' }) => ({ name: `p${port}`, port, protocol, nodePort })),
      externalTrafficPolicy: localPort === undefined ? 'Cluster' : 'Local',
      ...(localPort !== undefined && { healthCheckNodePort: localPort }),
      ...(sourceRanges && { loadBalancerSourceRanges: sourceRanges }),
    },
  };
}

/** As Mooring's services task asks for it, with the nodes vm-1 and vm-2. */
export function desiredOf(cluster: string, service: ComparedService): DesiredLoadBalancer {
  const { name, uid, annotations = {}, ports, localPort, hasAffinity, sourceRanges = [] } = service;
  const member = (node: string, zone: string) => ({
    node,
    zone,
    providerID: `gce://proj/${zone}/${node}`,
    addresses: ['10.128.0.1'],
    draining: false,
  });
  return {
    owner: { cluster, service: uid },
    service: `default/${name}`,
    clusterName: 'kubernetes',
    annotations,
    sourceRanges,
    families: ['IPv4'],
    name: `a${uid.replaceAll('-', '')}`.slice(0, 32),
    ports: ports.map(({ port, protocol = 'TCP' }): DesiredPort => {
      return { name: `p${port}`, port, protocol, nodePort, appProtocol: undefined };
    }),
    sessionAffinity: hasAffinity && { timeoutSeconds: 10_800 },
    trafficPolicy: localPort === undefined ? 'Cluster' : 'Local',
    healthCheck: { port: localPort ?? 10_256, path: '/healthz' },
    members: [member('vm-1', 'us-central1-a'), member('vm-2', 'us-central1-b')],
    address: undefined,
    attach: undefined,
    mayChangeAddress: false,
    clusterWideConsent: false,
    mayKeepAddress: true,
    retain: false,
  };
}
