import { declareServices } from './declare-services.ts';
import { failureOf } from './failures.ts';
import { noteGone, viewOfTags } from './gone-services.ts';
import type { ReconcilerOptions } from './reconciler-options.ts';
import type { Retentions } from './retention.ts';
import type { ServiceContext } from './service-context.ts';
import type { LoadBalancerCondition } from './service-patches.ts';
import type { ServingCloud } from './serving-cloud.ts';

/** The consequences of complete reads of scopes. */
export interface ScopeAudits {
  /**
   * A complete read has ended: tells the cloud the desired state of all its Services, and notes load balancers whose
   * Service was replaced by another of its name. Returns the keys with something to remove.
   */
  ended(cloud: ServingCloud): readonly string[];
  /** A complete read failed. Returns whether the reason is new. */
  failed(cloud: ServingCloud, error: unknown): boolean;
  /** Why the last complete read of this scope failed; undefined when it did not. */
  failure(scope: string): LoadBalancerCondition | undefined;
  countRetained(): void;
}

export function createScopeAudits(
  { services, clouds, metrics }: Pick<ServiceContext, 'services' | 'clouds' | 'metrics'>,
  parts: ReconcilerOptions,
  retentions: Pick<Retentions, 'counts'>,
): ScopeAudits {
  const { states, observations } = parts;
  const failures = new Map<string, LoadBalancerCondition>();

  function countRetained(): void {
    metrics.retained.reset();
    for (const { scope } of clouds)
      for (const [namespace, count] of retentions.counts(scope)) metrics.retained.set({ scope, namespace }, count);
  }

  function ended(cloud: ServingCloud): readonly string[] {
    const { scope } = cloud;
    declareServices(cloud, services.values(), { ...parts, clouds });
    failures.delete(scope);
    const present = new Set<string>();
    for (const { uid } of services.values()) present.add(uid);
    states.prune((uid) => present.has(uid));
    let orphans = 0;
    for (const [uid, observed] of observations.all(scope)) {
      if (present.has(uid) || observed.retained || observed.attached || observed.owner?.service !== uid) continue;
      orphans += 1;
      // A name has one UID at a time: the earlier one will not come back.
      const { service: key } = observed;
      if (key === undefined || services.get(key) === undefined) continue;
      noteGone(states, viewOfTags(uid, key), { scope, observed });
    }
    metrics.orphans.set({ scope }, orphans);
    countRetained();
    return [...new Set(states.gone().map(({ key }) => key))];
  }

  return {
    ended,
    failed({ scope }, error) {
      const failure = failureOf(error);
      if (failure.kind !== 'failed' || failure.condition === undefined) return false;
      const isNew = failures.get(scope)?.reason !== failure.condition.reason;
      failures.set(scope, failure.condition);
      return isNew;
    },
    failure: (scope) => failures.get(scope),
    countRetained,
  };
}
