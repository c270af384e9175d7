import { ovirt } from '../../../common/provider-id/ovirt.ts';
import type { CloudIdentity, CloudModule, OpenedCloud } from '../cloud.ts';
import { type CloudParts, configuredModule } from '../configured-module.ts';
import { openConnections } from '../connections.ts';
import { createMachineLookups, targetBy } from '../lookups.ts';
import { createRateLimiter } from '../rate-limiter.ts';
import { checkOvirt } from './check.ts';
import { type OvirtConfig, readConfig } from './config.ts';
import { createEngine } from './engine.ts';
import { cloud, createTokens } from './tokens.ts';
import { createVms } from './vms.ts';

/** oVirt: VMs of one engine, with the configuration of both earlier controllers. Opening makes no call. */
export const cloudModule = createModule();

/** All clouds that one module opens are told once what oVirt does not have. */
export function createModule(): CloudModule {
  let isTold = false;
  return configuredModule<OvirtConfig>(cloud, readConfig, (parts) => {
    if (!isTold) parts.context.log.info('nodes alone: oVirt has no load balancers and no routes', { cloud });
    isTold = true;
    return openOvirt(parts);
  });
}

/** Up to so many VMs are asked for one by one; for more, all are listed. */
const listAbove = 5;
/** No limit is documented; a list with NICs is heavy. */
const limits = { perSecond: 10, burst: 50 };

/** One engine. Makes no call. */
export function openOvirt({ config, context, wrapHttp }: CloudParts<OvirtConfig>): OpenedCloud {
  const { clock, random, onCall, onWait } = context;
  const { endpoint, ca, insecure, user } = config;
  const tls = { rejectUnauthorized: !insecure, ...(ca === undefined ? {} : { ca }) };
  const { http, close } = openConnections(context, { wrapHttp, maxSockets: 8, tls });
  const calls = { http, clock, onCall };
  const rateLimiter = createRateLimiter({ cloud, clock, random, limits, onWait });
  const engine = createEngine({ ...calls, rateLimiter, endpoint }, createTokens(config, calls));

  async function identify(signal?: AbortSignal): Promise<CloudIdentity> {
    const id = (await engine.product(signal)).optionalText('instance_id');
    const host = new URL(endpoint).host;
    if (id === undefined) return { scope: `engine/${host}`, account: host };
    // Engines before 4.4 did not tell it.
    return { scope: `engine/${id}`, account: id, formerScopes: [`engine/${host}`] };
  }
  const named = async (signal?: AbortSignal) => `${user} on engine ${(await identify(signal)).account}`;
  return {
    name: cloud,
    identify,
    ...createMachineLookups({ cloud, listAbove, targetOf, machines: () => [createVms(engine, config)] }),
    files: config.files,
    ping: async (signal) => void (await identify(signal)),
    check: (signal) => checkOvirt(config, engine, { identify: () => named(signal), signal }),
    close,
  };
}

const targetOf = targetBy((providerID) => ovirt.parse(providerID)?.instanceId, 'VM of oVirt');
