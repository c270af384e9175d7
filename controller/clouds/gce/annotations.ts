import { annotationsOf } from '../annotation-table.ts';

/** Values and meaning of each. */
export const annotationTable = {
  'networking.gke.io/load-balancer-type': [
    'Internal or External',
    'Internal: reached inside the network alone. Another type is another address',
  ],
  'cloud.google.com/load-balancer-type': ['Internal or External', 'the same, in older manifests'],
  'networking.gke.io/internal-load-balancer-allow-global-access': [
    'true or false',
    'an internal address is reached from other regions, too; default false',
  ],
  'networking.gke.io/internal-load-balancer-subnet': [
    'name of a subnet',
    'of the internal address; default: `subnetwork-name`. Another subnet is another address',
  ],
  'networking.gke.io/load-balancer-subnet': [
    'name of a subnet',
    'the same, and of an external IPv6 address; it goes before the other',
  ],
  'networking.gke.io/load-balancer-ip-addresses': [
    'names of reserved addresses, separated by commas',
    'of the region, one for each family; instead of `spec.loadBalancerIP`. Another address needs consent',
  ],
  'cloud.google.com/network-tier': [
    'Premium or Standard',
    'of an external address; default: that of the one that stands, then Premium. Another tier is another address',
  ],
  'cloud.google.com/l4-rbs': [
    'enabled or disabled',
    'enabled: an external load balancer has a backend service instead of a target pool',
  ],
  'alpha.cloud.google.com/load-balancer-backend-share': [
    'false',
    'true is refused: each Service has a backend service of its own',
  ],
  'cloud.google.com/load-balancer-backend-share': ['false', 'true is refused, too'],
} as const;

export type AnnotationName = keyof typeof annotationTable;

export const annotations = annotationsOf('', annotationTable);

/** What begins so and is not known is reported. Others with `cloud.google.com/` are of Ingress. */
export const annotationPrefixes = [
  'networking.gke.io/load-balancer-',
  'networking.gke.io/internal-load-balancer-',
  'networking.gke.io/l4-',
  'cloud.google.com/load-balancer-',
  'cloud.google.com/l4-',
];

/** Those that end in `-v2` and `-v3` are of the controllers of GKE, which may run beside this one. */
export const classicFinalizers = ['gke.networking.io/l4-ilb-v1', 'gke.networking.io/l4-netlb-v1'];
