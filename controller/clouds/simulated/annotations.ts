import { keysOf, type NamedAnnotations, namedAnnotations } from '../annotation-table.ts';

const prefix = 'service.beta.kubernetes.io/simulated-load-balancer-';

/** Everything that the load balancers of this cloud read, for them and for the reference. */
export const table = {
  internal: [
    `${prefix}internal`,
    'true or false',
    'The load balancer gets an internal address instead of an external one. A change gives it another address.',
  ],
  proxyProtocol: [
    `${prefix}proxy-protocol`,
    'true or false',
    "Members get the client's address in a PROXY protocol header, on every TCP port.",
  ],
  tls: [
    `${prefix}tls`,
    'names or numbers of TCP ports of the Service, separated by commas',
    'The load balancer ends TLS on these ports.',
  ],
  healthCheckPath: [
    `${prefix}health-check-path`,
    'a path that starts with /',
    'Path of the health check, instead of the one that Kubernetes gives.',
  ],
  healthCheckPort: [
    `${prefix}health-check-port`,
    'a port number, 1 to 65535',
    'Port of the health check on every node, instead of the one that Kubernetes gives.',
  ],
  nodeSelector: [
    `${prefix}node-selector`,
    'labels as key=value or key, separated by commas',
    'Only Nodes that carry every one of these labels become members; a key alone is met by any value.',
  ],
} satisfies NamedAnnotations<string>;

export const keys = keysOf(table);
export const annotations = namedAnnotations(table);
