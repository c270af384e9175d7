import { metaCondition, topLevel } from './meta-schema.ts';
import { always, any, bool, int32, intOrString, keyed, list, map, object, pointer, string } from './schema.ts';

const servicePort = object('ServicePort', {
  name: string,
  protocol: string,
  appProtocol: pointer(string),
  port: always(int32),
  targetPort: intOrString,
  nodePort: int32,
});

const ingress = object('LoadBalancerIngress', {
  ip: string,
  hostname: string,
  ipMode: pointer(string),
  ports: list(object('PortStatus', { port: always(int32), protocol: always(string), error: pointer(string) })),
});

export const serviceSchema = topLevel('Service', {
  spec: always(
    object('ServiceSpec', {
      ports: keyed('port', servicePort),
      selector: map(string),
      clusterIP: string,
      clusterIPs: list(string),
      type: string,
      externalIPs: list(string),
      sessionAffinity: string,
      loadBalancerIP: string,
      loadBalancerSourceRanges: list(string),
      externalName: string,
      externalTrafficPolicy: string,
      healthCheckNodePort: int32,
      publishNotReadyAddresses: bool,
      sessionAffinityConfig: any,
      ipFamilies: list(string),
      ipFamilyPolicy: pointer(string),
      allocateLoadBalancerNodePorts: pointer(bool),
      loadBalancerClass: pointer(string),
      internalTrafficPolicy: pointer(string),
      trafficDistribution: pointer(string),
    }),
  ),
  status: always(
    object('ServiceStatus', {
      loadBalancer: always(object('LoadBalancerStatus', { ingress: list(ingress) })),
      conditions: keyed('type', metaCondition),
    }),
  ),
});
