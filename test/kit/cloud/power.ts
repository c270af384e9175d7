import type { PowerState, SimulatedInstance } from './instance.ts';

/** How long the cloud takes over each step of a VM's life, milliseconds. */
export interface Timings {
  readonly pendingMs: number;
  readonly stoppingMs: number;
  readonly shuttingDownMs: number;
  /** How long a terminated instance is still shown. */
  readonly forgetAfterMs: number;
}

/** Every step is immediate, terminated instances are shown for an hour. */
export const defaultTimings: Timings = { pendingMs: 0, stoppingMs: 0, shuttingDownMs: 0, forgetAfterMs: 3_600_000 };

export interface NextStep {
  readonly to: PowerState | 'forgotten';
  readonly afterMs: number;
}

/** What a VM in this state comes to by itself; undefined = it stays. */
export function nextStep(power: PowerState, timings: Timings): NextStep | undefined {
  switch (power) {
    case 'pending':
      return { to: 'running', afterMs: timings.pendingMs };
    case 'stopping':
      return { to: 'stopped', afterMs: timings.stoppingMs };
    case 'shutting-down':
      return { to: 'terminated', afterMs: timings.shuttingDownMs };
    case 'terminated':
      return { to: 'forgotten', afterMs: timings.forgetAfterMs };
    default:
      return undefined;
  }
}

/** The instance in another state. A terminated VM has given its addresses back, as EC2 shows it. */
export function inState(instance: SimulatedInstance, power: PowerState): SimulatedInstance {
  if (power !== 'terminated') return { ...instance, power };
  const interfaces = instance.interfaces.map((nic) => ({ ...nic, internal: [], external: [] }));
  return { ...instance, power, interfaces, internalDns: [], externalDns: [] };
}

export function isEnding(power: PowerState): boolean {
  return power === 'terminated' || power === 'shutting-down';
}
