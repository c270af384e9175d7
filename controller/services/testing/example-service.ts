import { annotations, finalizers } from '../../../common/well-known.ts';
import { type ServiceView, viewService } from '../../model/service-view.ts';

/** A Service as a real API server shows it, with changes. */
export function rawService(changes: {
  readonly metadata?: object;
  readonly spec?: object;
  readonly status?: object;
}): object {
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: {
      name: 'web',
      namespace: 'default',
      uid: '6a2f3f1e-0b0c-4d5e-8f90-123456789abc',
      resourceVersion: '100',
      creationTimestamp: '2026-05-01T12:00:00Z',
      ...changes.metadata,
    },
    spec: {
      allocateLoadBalancerNodePorts: true,
      clusterIP: '10.96.0.10',
      clusterIPs: ['10.96.0.10'],
      externalTrafficPolicy: 'Cluster',
      internalTrafficPolicy: 'Cluster',
      ipFamilies: ['IPv4'],
      ipFamilyPolicy: 'SingleStack',
      ports: [{ name: 'http', protocol: 'TCP', port: 80, targetPort: 8080, nodePort: 30080 }],
      selector: { app: 'web' },
      sessionAffinity: 'None',
      type: 'LoadBalancer',
      ...changes.spec,
    },
    status: { loadBalancer: {}, ...changes.status },
  };
}

export function exampleService(
  changes: Parameters<typeof rawService>[0] = {},
  isRead: (key: string) => boolean = () => false,
  classic: readonly string[] = [],
): ServiceView {
  return viewService(rawService(changes), isRead, classic);
}

export const finalized = { finalizers: [finalizers.loadBalancerCleanup] };

export function recorded(text: string) {
  return { annotations: { [annotations.loadBalancer]: text } };
}
