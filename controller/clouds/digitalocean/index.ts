import { digitalocean } from '../../../common/provider-id/digitalocean.ts';
import type { CloudIdentity, OpenedCloud } from '../cloud.ts';
import { type CloudParts, configuredModule } from '../configured-module.ts';
import { createMachineLookups, targetBy } from '../lookups.ts';
import { checkDigitalOcean } from './check.ts';
import { cloud, openClient } from './client.ts';
import { type DigitalOceanConfig, readConfig } from './config.ts';
import { createLoadBalancerDriver } from './driver.ts';
import { createDroplets } from './droplets.ts';

/** DigitalOcean: the droplets and load balancers of one account. Opening makes no call. */
export const cloudModule = configuredModule(cloud, readConfig, openDigitalOcean);

/** The API takes 250 calls a minute, of which others make some, too. */
const burst = 150;

/** One account. Makes no call. */
export function openDigitalOcean({ config, context, wrapHttp }: CloudParts<DigitalOceanConfig>): OpenedCloud {
  const client = openClient(context, {
    endpoint: config.endpoint,
    authorization: `Bearer ${config.token}`,
    limits: { perSecond: config.callsPerSecond, burst },
    wrapHttp,
  });
  const hasPlace = config.region !== undefined || config.vpc !== undefined;

  async function identify(signal?: AbortSignal): Promise<CloudIdentity> {
    const found = (await client.call({ path: '/v2/account', signal })).object('account');
    // A token belongs to a team; those of old accounts to a user.
    const account = found.optionalObject('team')?.optionalText('uuid') ?? found.text('uuid');
    return { scope: `${new URL(config.endpoint).host}/${account}`, account };
  }
  return {
    name: cloud,
    identify,
    ...createMachineLookups({ cloud, targetOf, machines: () => [createDroplets(client)] }),
    loadBalancerDriver: hasPlace ? createLoadBalancerDriver(client, config) : undefined,
    files: config.files,
    ping: async (signal) => void (await identify(signal)),
    check: (signal) => checkDigitalOcean(config, client, signal),
    close: client.close,
  };
}

const targetOf = targetBy((providerID) => digitalocean.parse(providerID)?.instanceId, 'droplet');
