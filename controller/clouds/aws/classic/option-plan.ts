import type { Attributes, ClassicLoadBalancer, HealthCheck } from './classic-load-balancer.ts';
import type { Wanted } from './plan.ts';
import { type ClassicStep, stepOf } from './step.ts';

/** What differs of what is asked; what AWS fills in beside it is its own affair. */
export function planAttributes({ settings, subject }: Wanted, balancer: ClassicLoadBalancer): readonly ClassicStep[] {
  const { attributes: there } = balancer;
  if (there === undefined) return [];
  const { crossZone, draining, idleTimeout, accessLog } = settings.attributes;
  const attributes: Attributes = {
    ...(crossZone !== undefined && (there.crossZone ?? false) !== crossZone && { crossZone }),
    ...(draining && !within(draining, there.draining ?? { enabled: false }) && { draining }),
    ...(idleTimeout !== undefined && (there.idleTimeout ?? 60) !== idleTimeout && { idleTimeout }),
    ...(accessLog && !within(accessLog, there.accessLog ?? { enabled: false }) && { accessLog }),
  };
  const changed = Object.keys(attributes) as (keyof Attributes)[];
  if (changed.length === 0) return [];
  const shown = changed.map(
    (key) => `${key} from ${JSON.stringify(there[key]) ?? 'none'} to ${JSON.stringify(attributes[key])}`,
  );
  const summary = `attributes of ${balancer.name}: ${shown.join(', ')}`;
  return [stepOf(subject, summary, { does: 'modify attributes', attributes })];
}

/** Whether all that is asked is so. Nothing else matters of what is switched off. */
function within(wanted: { readonly enabled: boolean }, there: { readonly enabled: boolean }): boolean {
  if (!wanted.enabled) return !there.enabled;
  const known = there as Readonly<Record<string, unknown>>;
  return Object.entries(wanted).every(([key, value]) => value === undefined || known[key] === value);
}

/** @param adopted one that the classic controller configured is left as it is until it is ours */
export function planHealth(
  { settings, subject }: Wanted,
  balancer: ClassicLoadBalancer,
  adopted: boolean,
): readonly ClassicStep[] {
  const { health, classicHealth } = settings;
  const { health: there, name } = balancer;
  if (health === undefined || same(health, there)) return [];
  if (adopted && classicHealth !== undefined && same(classicHealth, there)) return [];
  const summary = `health check of ${name} from ${there === undefined ? 'none' : describe(there)} to ${describe(health)}`;
  return [stepOf(subject, summary, { does: 'configure health check', health })];
}

function same(a: HealthCheck, b: HealthCheck | undefined): boolean {
  return b !== undefined && describe(a) === describe(b);
}

function describe({ target, interval, timeout, healthy, unhealthy }: HealthCheck): string {
  return `${target} every ${interval} s, at most ${timeout} s, ${healthy} good, ${unhealthy} bad`;
}
