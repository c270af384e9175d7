import { createAnnotationReader, flagOf, listOf, matching } from '../../annotation-reader.ts';
import { normalCidr } from '../../ip-address.ts';
import type { DesiredLoadBalancer } from '../../load-balancers.ts';
import { type AnnotationName, annotationTable, prefix } from '../annotations.ts';
import { stickinessOf } from './stickiness.ts';

export type Settings = ReturnType<typeof settingsOf>;

export const everywhere = '0.0.0.0/0';

/** What the annotations of a Service say. Pure. */
export function settingsOf({ annotations }: Pick<DesiredLoadBalancer, 'annotations'>) {
  const { read, problems } = createAnnotationReader<AnnotationName>({
    textOf: (name) => annotations[prefix + name] || undefined,
    sourceOf: (name) => prefix + name,
    expectedOf: (name) => annotationTable[name][0],
  });
  const dnsName = matching(/^[A-Za-z0-9]([A-Za-z0-9.-]{0,251}[A-Za-z0-9])?$/);
  return {
    usesProxyProtocol: read('proxy-protocol', flagOf) ?? false,
    hostname: read('hostname', dnsName)?.toLowerCase(),
    stickiness: read('stickiness', stickinessOf),
    /** Of the load balancer rules, sorted; empty: from everywhere. */
    sourceCidrs: narrowed(read('source-cidrs', listOf(normalCidr)) ?? []),
    /** What cannot be read: name, value and what was expected. */
    problems,
  };
}

/** Sorted, without duplicates; nothing where everything is in it. */
export function narrowed(cidrs: readonly string[]): readonly string[] {
  return cidrs.includes(everywhere) ? [] : [...new Set(cidrs)].sort();
}
