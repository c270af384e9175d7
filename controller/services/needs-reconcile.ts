import type { ServiceView } from '../model/service-view.ts';

/** Fields whose change never matters by itself. */
const identity = new Set<keyof ServiceView>(['key', 'name', 'namespace', 'resourceVersion']);

/**
 * Whether a change of a Service may ask for work. More than upstream looks at: a wiped status, our finalizer, record or condition taken away, a terminating
 * Service, `ipFamilyPolicy`, node ports given up. Less: labels, selectors, `internalTrafficPolicy`, `externalIPs` (kube-proxy's) and annotations that nobody reads
 * are not in the view, so their change is none. Pure.
 */
export function needsReconcile(old: ServiceView, now: ServiceView): boolean {
  return (Object.keys(now) as (keyof ServiceView)[]).some(
    (field) => !identity.has(field) && !equal(old[field], now[field]),
  );
}

function equal(a: unknown, b: unknown): boolean {
  return a === b || JSON.stringify(a) === JSON.stringify(b);
}
