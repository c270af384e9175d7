import { CloudError } from '../../../../common/cloud-error.ts';
import type { Urgency } from '../../urgency.ts';
import type { OpenStackClient } from '../client.ts';

export interface ReadOptions {
  readonly urgency: Urgency;
  readonly signal?: AbortSignal | undefined;
}

/** What this Neutron can do of what routes need. */
export interface RouteAbilities {
  /** Adds and removes single routes by itself; otherwise the whole list is written. */
  readonly atomic: boolean;
  readonly addressPairs: boolean;
  /** Refuses a write that was meant for another revision. */
  readonly ifMatch: boolean;
}

/** Read once. Throws a CloudError, `Invalid` where a router cannot have routes at all. */
export function createAbilities(client: OpenStackClient): (options: ReadOptions) => Promise<RouteAbilities> {
  let reading: Promise<RouteAbilities> | undefined;

  async function read(options: ReadOptions): Promise<RouteAbilities> {
    const extensions = await client.list({ service: 'network', path: '/extensions', ...options }, 'extensions');
    const aliases = new Set(extensions.map((extension) => extension.text('alias')));
    if (!aliases.has('extraroute') && !aliases.has('extraroute-atomic')) {
      const message = 'Neutron has neither the extension extraroute nor extraroute-atomic: its routers take no routes';
      throw new CloudError({ kind: 'Invalid', cloud: 'openstack', operation: 'GET /extensions', message });
    }
    return {
      atomic: aliases.has('extraroute-atomic'),
      addressPairs: aliases.has('allowed-address-pairs'),
      ifMatch: aliases.has('revision-if-match'),
    };
  }

  return (options) => {
    reading ??= read(options).catch((error: unknown) => {
      reading = undefined;
      throw error;
    });
    return reading;
  };
}
