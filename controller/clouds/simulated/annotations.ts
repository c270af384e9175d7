import type { AnnotationDefinition } from '../load-balancers.ts';

const prefix = 'service.beta.kubernetes.io/simulated-load-balancer-';
export const keys = {
  internal: `${prefix}internal`,
  proxyProtocol: `${prefix}proxy-protocol`,
  tls: `${prefix}tls`,
  healthCheckPath: `${prefix}health-check-path`,
  healthCheckPort: `${prefix}health-check-port`,
  nodeSelector: `${prefix}node-selector`,
} as const;

/** What each takes, for people. */
export const takes = {
  trueOrFalse: 'true or false',
  path: 'a path that starts with /',
  portNumber: 'a port number, 1 to 65535',
  portNames: 'names or numbers of TCP ports of the Service, separated by commas',
  nodeLabels: 'labels as key=value or key, separated by commas',
} as const;

/** Everything that the load balancers of this cloud read, for them and for the reference. */
export const annotations: readonly AnnotationDefinition[] = [
  {
    key: keys.internal,
    values: takes.trueOrFalse,
    meaning:
      'The load balancer gets an internal address instead of an external one. A change gives it another address.',
  },
  {
    key: keys.proxyProtocol,
    values: takes.trueOrFalse,
    meaning: "Members get the client's address in a PROXY protocol header, on every TCP port.",
  },
  { key: keys.tls, values: takes.portNames, meaning: 'The load balancer ends TLS on these ports.' },
  {
    key: keys.healthCheckPath,
    values: takes.path,
    meaning: 'Path of the health check, instead of the one that Kubernetes gives.',
  },
  {
    key: keys.healthCheckPort,
    values: takes.portNumber,
    meaning: 'Port of the health check on every node, instead of the one that Kubernetes gives.',
  },
  {
    key: keys.nodeSelector,
    values: takes.nodeLabels,
    meaning: 'Only Nodes that carry every one of these labels become members; a key alone is met by any value.',
  },
];
