import type { DesiredLoadBalancer, DesiredMember, DesiredPort } from '../../../../controller/clouds/load-balancers.ts';

const service = '0a1b2c3d-1111-4222-8333-444455556666';

export function port(number: number, nodePort: number, fields: Partial<DesiredPort> = {}): DesiredPort {
  return { name: `p${number}`, protocol: 'TCP', port: number, nodePort, appProtocol: undefined, ...fields };
}

export function member(number: number, fields: Partial<DesiredMember> = {}): DesiredMember {
  const id = `i-${number.toString(16).padStart(17, '0')}`;
  const providerID = `aws:///eu-west-1a/${id}`;
  return {
    node: `n${number}`,
    providerID,
    addresses: [`10.0.0.${number}`],
    zone: 'eu-west-1a',
    draining: false,
    ...fields,
  };
}

/** What a plain Service asks for. */
export function desired(fields: Partial<DesiredLoadBalancer> = {}): DesiredLoadBalancer {
  return {
    owner: { cluster: 'c0000000-1111-4222-8333-444455556666', service },
    service: 'default/web',
    clusterName: 'kubernetes',
    name: `a${service.replaceAll('-', '')}`.slice(0, 32),
    ports: [port(80, 30080)],
    families: ['IPv4'],
    sourceRanges: [],
    sessionAffinity: undefined,
    trafficPolicy: 'Cluster',
    healthCheck: { port: 10256, path: '/healthz' },
    address: undefined,
    annotations: {},
    members: [member(1), member(2)],
    attach: undefined,
    mayChangeAddress: false,
    clusterWideConsent: false,
    mayKeepAddress: true,
    retain: false,
    ...fields,
  };
}
