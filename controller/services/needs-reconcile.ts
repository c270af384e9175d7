import type { ServiceView } from '../model/service-view.ts';

/** Fields whose change alone never matters. */
const identity = new Set<keyof ServiceView>(['key', 'name', 'namespace', 'resourceVersion']);

/**
 * Whether a change of a Service may need work. Beyond upstream's fields: a wiped status, a removed finalizer, record or
 * condition of ours, a terminating Service, `ipFamilyPolicy`, removed node ports. Labels, selectors,
 * `internalTrafficPolicy`, `externalIPs` (kube-proxy's) and annotations that no cloud reads are not in the view, so
 * their changes are not seen. Pure.
 */
export function needsReconcile(old: ServiceView, now: ServiceView): boolean {
  return (Object.keys(now) as (keyof ServiceView)[]).some(
    (field) => !identity.has(field) && !equal(old[field], now[field]),
  );
}

function equal(a: unknown, b: unknown): boolean {
  return a === b || JSON.stringify(a) === JSON.stringify(b);
}
