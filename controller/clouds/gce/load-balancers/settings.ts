import { createAnnotationReader, flagOf, matching, oneOf } from '../../annotation-reader.ts';
import { type AnnotationName, annotationTable } from '../annotations.ts';
import { namePattern } from '../config.ts';
import type { Tier } from './forwarding-rule.ts';

/** What the annotations of a Service say. */
export interface Settings {
  readonly isInternal: boolean;
  /** It has a backend service. */
  readonly hasService: boolean;
  readonly globalAccess: boolean;
  /** Undefined: not said. */
  readonly subnet: string | undefined;
  readonly tier: Tier | undefined;
  /** Name of a reserved address. */
  readonly address: string | undefined;
  /** What cannot be read: name, value and what was expected. */
  readonly problems: readonly string[];
}

/** Pure. */
export function settingsOf(annotations: Readonly<Record<string, string>>): Settings {
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
  const isInternal = (types[0] ?? types[1]) === 'internal';
  const isRbs = read('cloud.google.com/l4-rbs', oneOf('enabled', 'disabled')) === 'enabled';
  const tier = read('cloud.google.com/network-tier', oneOf('Premium', 'Standard'));
  const globalAccess = read('networking.gke.io/internal-load-balancer-allow-global-access', flagOf) ?? false;
  const subnet = read('networking.gke.io/internal-load-balancer-subnet', matching(namePattern));
  for (const name of [
    'alpha.cloud.google.com/load-balancer-backend-share',
    'cloud.google.com/load-balancer-backend-share',
  ] as const)
    read(name, (text) => (flagOf(text) === false ? false : undefined));
  const onlyInternal = [
    ['networking.gke.io/internal-load-balancer-allow-global-access', globalAccess],
    ['networking.gke.io/internal-load-balancer-subnet', subnet !== undefined],
  ] as const;
  for (const [name, isSaid] of onlyInternal)
    if (isSaid && !isInternal) wrong(name, 'it only beside networking.gke.io/load-balancer-type: Internal');
  if (tier === 'Standard' && isInternal) wrong('cloud.google.com/network-tier', 'Premium for an internal address');
  return {
    ...{ isInternal, hasService: isInternal || isRbs, globalAccess, subnet, problems },
    tier: isInternal ? undefined : (tier?.toUpperCase() as Tier | undefined),
    address: read('networking.gke.io/load-balancer-ip-addresses', matching(namePattern)),
  };
}
