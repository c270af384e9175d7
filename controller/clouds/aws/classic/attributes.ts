import type { Attributes } from './classic-load-balancer.ts';

/** What differs of what is asked for, undefined = nothing; what AWS fills in beside it does not count. Pure. */
export function attributesChanged(there: Attributes, asked: Attributes): Attributes | undefined {
  const { crossZone, draining, idleTimeout, accessLog } = asked;
  const changed: Attributes = {
    ...(crossZone !== undefined && (there.crossZone ?? false) !== crossZone && { crossZone }),
    ...(draining && !within(draining, there.draining ?? { enabled: false }) && { draining }),
    ...(idleTimeout !== undefined && (there.idleTimeout ?? 60) !== idleTimeout && { idleTimeout }),
    ...(accessLog && !within(accessLog, there.accessLog ?? { enabled: false }) && { accessLog }),
  };
  return Object.keys(changed).length > 0 ? changed : undefined;
}

/** @param name of the load balancer */
export function describeAttributes(name: string, there: Attributes, changed: Attributes): string {
  const keys = Object.keys(changed) as (keyof Attributes)[];
  const shown = keys.map(
    (key) => `${key} from ${JSON.stringify(there[key]) ?? 'none'} to ${JSON.stringify(changed[key])}`,
  );
  return `attributes of ${name}: ${shown.join(', ')}`;
}

/** Whether all that is asked is so. Nothing else matters of what is switched off. */
function within(asked: { readonly enabled: boolean }, there: { readonly enabled: boolean }): boolean {
  if (!asked.enabled) return !there.enabled;
  const known = there as Readonly<Record<string, unknown>>;
  return Object.entries(asked).every(([key, value]) => value === undefined || known[key] === value);
}
