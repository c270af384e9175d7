import { createAnnotationReader, flagOf, listOf, matching, oneOf } from '../../annotation-reader.ts';
import type { DesiredLoadBalancer } from '../../load-balancers.ts';
import { type AnnotationName, annotationTable } from '../annotations.ts';
import { namePattern } from '../config.ts';
import type { Tier } from './forwarding-rule.ts';

export type Settings = ReturnType<typeof settingsOf>;

/** The types that classes name; what ends in `legacy` is the classic controller's. A class wins over annotations. */
const classes: Readonly<Record<string, { readonly isInternal: boolean; readonly hasService: boolean }>> = {
  'networking.gke.io/l4-regional-external': { isInternal: false, hasService: true },
  'networking.gke.io/l4-regional-external-legacy': { isInternal: false, hasService: false },
  'networking.gke.io/l4-regional-internal': { isInternal: true, hasService: true },
  'networking.gke.io/l4-regional-internal-legacy': { isInternal: true, hasService: true },
};

/** What the annotations of a Service say. Pure. */
export function settingsOf({
  annotations,
  loadBalancerClass = '',
}: Pick<DesiredLoadBalancer, 'annotations' | 'loadBalancerClass'>) {
  const { read, wrong, problems } = createAnnotationReader<AnnotationName>({
    // An empty one says nothing.
    textOf: (name) => annotations[name] || undefined,
    sourceOf: (name) => name,
    expectedOf: (name) => annotationTable[name][0],
  });
  const typeOf = (text: string) => oneOf('internal', 'external')(text.toLowerCase());
  const types = (['networking.gke.io/load-balancer-type', 'cloud.google.com/load-balancer-type'] as const).map((name) =>
    read(name, typeOf),
  );
  const isRbs = read('cloud.google.com/l4-rbs', oneOf('enabled', 'disabled')) === 'enabled';
  const isTyped = (types[0] ?? types[1]) === 'internal';
  const { isInternal, hasService } = classes[loadBalancerClass] ?? {
    isInternal: isTyped,
    hasService: isTyped || isRbs,
  };
  const tier = read('cloud.google.com/network-tier', oneOf('Premium', 'Standard'));
  const globalAccess = read('networking.gke.io/internal-load-balancer-allow-global-access', flagOf) ?? false;
  const ownSubnet = read('networking.gke.io/internal-load-balancer-subnet', matching(namePattern));
  const subnet = read('networking.gke.io/load-balancer-subnet', matching(namePattern)) ?? ownSubnet;
  for (const name of [
    'alpha.cloud.google.com/load-balancer-backend-share',
    'cloud.google.com/load-balancer-backend-share',
  ] as const)
    read(name, (text) => (flagOf(text) === false ? false : undefined));
  const onlyInternal = [
    ['networking.gke.io/internal-load-balancer-allow-global-access', globalAccess],
    ['networking.gke.io/internal-load-balancer-subnet', ownSubnet !== undefined],
  ] as const;
  for (const [name, isSaid] of onlyInternal)
    if (isSaid && !isInternal) wrong(name, 'it only on an internal load balancer');
  if (tier === 'Standard' && isInternal) wrong('cloud.google.com/network-tier', 'Premium for an internal address');
  return {
    isInternal,
    /** It has a backend service. */
    hasService,
    globalAccess,
    /** Undefined: not said. */
    subnet,
    tier: isInternal ? undefined : (tier?.toUpperCase() as Tier | undefined),
    /** Names of reserved addresses. */
    addresses: read('networking.gke.io/load-balancer-ip-addresses', listOf(matching(namePattern))) ?? [],
    /** What cannot be read: name, value and what was expected. */
    problems,
  };
}
