import type { Loops } from '../../app/options/loops.ts';
import { servesWebhook, webhookNames } from '../../app/options/webhook-flags.ts';
import type { Capability, CheckResult } from '../../clouds/cloud.ts';

export interface Uses {
  /** `--configure-cloud-routes` with a `--cluster-cidr`. */
  readonly cloudRoutes: boolean;
  /** `--webhooks`, as given. */
  readonly webhooks: readonly string[];
}

/** The capabilities of the clouds that a run with these loops and webhooks uses. */
export function capabilitiesIn(loops: Loops, { cloudRoutes, webhooks }: Uses): ReadonlySet<Capability> {
  const capabilities = new Set<Capability>();
  if (loops.node || loops.lifecycle) capabilities.add('nodes');
  if (loops.route && cloudRoutes) capabilities.add('routes');
  if (loops.service) capabilities.add('load balancers');
  if (loops.tagging) capabilities.add('node tags');
  if (loops.volume || servesWebhook(webhooks, webhookNames.volumes)) capabilities.add('volumes');
  return capabilities;
}

/** A check may fail if only unused capabilities need it. */
export function isNeeded({ neededFor }: CheckResult, capabilities: ReadonlySet<Capability>): boolean {
  return neededFor === undefined || neededFor.some((capability) => capabilities.has(capability));
}
