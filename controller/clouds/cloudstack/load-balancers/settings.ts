import { createAnnotationReader, flagOf, listOf, matching } from '../../annotation-reader.ts';
import { normalCidr } from '../../ip-address.ts';
import type { DesiredLoadBalancer } from '../../load-balancers.ts';
import { type AnnotationName, annotationTable, prefix } from '../annotations.ts';
import { type Stickiness, stickinessOf } from './stickiness.ts';

/** What the annotations of a Service say. */
export interface Settings {
  readonly usesProxyProtocol: boolean;
  readonly hostname: string | undefined;
  /** Of the load balancer rules, sorted; empty: from everywhere. */
  readonly sourceCidrs: readonly string[];
  readonly stickiness: Stickiness | undefined;
  /** What cannot be read: name, value and what was expected. */
  readonly problems: readonly string[];
}

export const everywhere = '0.0.0.0/0';

/** Pure. */
export function settingsOf({ annotations }: Pick<DesiredLoadBalancer, 'annotations'>): Settings {
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
    sourceCidrs: narrowed(read('source-cidrs', listOf(normalCidr)) ?? []),
    problems,
  };
}

/** Sorted, without duplicates; nothing where everything is in it. */
export function narrowed(cidrs: readonly string[]): readonly string[] {
  return cidrs.includes(everywhere) ? [] : [...new Set(cidrs)].sort();
}
