import { type AnnotationTable, annotationsOf } from '../annotation-table.ts';

export const prefix = 'service.beta.kubernetes.io/simulated-load-balancer-';

/** Everything that the load balancers of this cloud read, for them and for the reference. */
export const table = {
  internal: [
    'true or false',
    'The load balancer gets an internal address instead of an external one. A change gives it another address.',
  ],
  'proxy-protocol': [
    'true or false',
    "Members get the client's address in a PROXY protocol header, on every TCP port.",
  ],
  tls: [
    'names or numbers of TCP ports of the Service, separated by commas',
    'The load balancer ends TLS on these ports.',
  ],
  'health-check-path': [
    'a path that starts with /',
    'Path of the health check, instead of the one that Kubernetes gives.',
  ],
  'health-check-port': [
    'a port number, 1 to 65535',
    'Port of the health check on every node, instead of the one that Kubernetes gives.',
  ],
  'node-selector': [
    'labels as key=value or key, separated by commas',
    'Only Nodes that carry every one of these labels become members; a key alone is met by any value.',
  ],
} as const satisfies AnnotationTable;

export const annotations = annotationsOf(prefix, table);
