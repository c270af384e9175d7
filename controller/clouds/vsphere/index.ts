import { vsphere } from '../../../common/provider-id/vsphere.ts';
import { CloudConfigError, type CloudModule, type OpenedCloud } from '../cloud.ts';
import { configFilesOf } from '../config-files.ts';
import { type CloudParts, configuredModule } from '../configured-module.ts';
import { openConnections, type WrapHttp } from '../connections.ts';
import { createExchange } from '../exchange.ts';
import { createLookups, targetBy } from '../lookups.ts';
import { createRateLimiter } from '../rate-limiter.ts';
import { checkVCenter } from './check.ts';
import { readConfig, type VSphereConfig } from './config.ts';
import { createMemory, type Memory } from './memory.ts';
import { createReader } from './reader.ts';
import { createVCenter } from './vcenter.ts';
import { createZones } from './zones.ts';

/** vSphere: VMs of one or several vCenters, with the classic controller's vsphere.conf. Opening makes no call. */
export const cloudModule = createModule();

/** All clouds that one module opens share its memory. */
export function createModule(wrapHttp: WrapHttp = (http) => http): CloudModule {
  const memory = createMemory();
  return configuredModule<VSphereConfig>(
    'vsphere',
    (file, env) => readConfig(file, env, configFilesOf('vsphere')),
    ({ config, context }) => openVSphere({ config, context, wrapHttp }, memory),
  );
}

/** Up to so many VMs are searched one by one; for more, all are listed. */
const listAbove = 5;
/** No limit is documented; one call may be heavy. */
const callLimits = { perSecond: 10, burst: 50 };
const nilUuid = '00000000-0000-0000-0000-000000000000';

/** One or several vCenters. Makes no call. */
export function openVSphere(
  { config: { vcenters, categories, roles, files }, context, wrapHttp }: CloudParts<VSphereConfig>,
  { lastSeen, refusals }: Memory,
): OpenedCloud {
  const { clock, random, onCall, onWait } = context;
  const parts = vcenters.map((config) => {
    const { ca, insecure } = config;
    const tls = { rejectUnauthorized: !insecure, ...(ca === undefined ? {} : { ca }) };
    const thumbprint = insecure ? undefined : config.thumbprint;
    const { http, close } = openConnections(context, { wrapHttp, maxSockets: 8, tls, thumbprint });
    const rateLimiter = createRateLimiter({ cloud: 'vsphere', clock, random, limits: callLimits, onWait });
    const exchange = createExchange({ cloud: 'vsphere', http, clock, rateLimiter, onCall });
    const vcenter = createVCenter(config, exchange, clock, refusals);
    return { vcenter, readZones: createZones(categories, clock), close };
  });
  return {
    name: 'vsphere',
    async identify() {
      const uuids = await Promise.all(parts.map(({ vcenter }) => vcenter.identify()));
      if (new Set(uuids).size < uuids.length)
        throw new CloudConfigError(`vsphere: two of the configured vCenters are one: ${uuids.join(', ')}`);
      // Each was a scope of its own before the others joined it.
      const formerScopes = uuids.length > 1 ? uuids.map((uuid) => `vcenter/${uuid}`) : [];
      return { scope: `vcenter/${uuids.join('/')}`, account: uuids[0]!, formerScopes };
    },
    ...createLookups({
      cloud: 'vsphere',
      listAbove,
      targetOf,
      createReader: () => createReader({ vcenters: parts, roles, lastSeen }),
    }),
    files,
    async ping(signal) {
      await Promise.all(parts.map(({ vcenter }) => vcenter.findByUuid(nilUuid, signal)));
    },
    async check(signal) {
      const results = parts.map((part) => checkVCenter(part, categories !== undefined, signal));
      return (await Promise.all(results)).flat();
    },
    close() {
      for (const { vcenter, close } of parts) void vcenter.logout().finally(close);
    },
  };
}

/** vCenter knows VMs by uuid alone, so any other id is none of this scope's rather than absent from it. */
const targetOf = targetBy((providerID) => vsphere.parse(providerID)?.instanceId, 'VM of vsphere');
