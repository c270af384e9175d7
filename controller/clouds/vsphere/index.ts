import { createHttp, type Http } from '../../../common/process/http.ts';
import { readProxies } from '../../../common/process/proxy-environment.ts';
import { vsphere } from '../../../common/provider-id/vsphere.ts';
import { CloudConfigError, type CloudContext, type CloudModule, type OpenedCloud } from '../cloud.ts';
import { configFilesOf } from '../config-files.ts';
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
export function createModule(wrapHttp?: (http: Http) => Http): CloudModule {
  const memory = createMemory();
  return {
    name: 'vsphere',
    async open(file, context) {
      const config = await readConfig(file, context.env, configFilesOf('vsphere'));
      if ('reportOnly' in config) return config;
      for (const warning of config.warnings) context.log.with({ cloud: 'vsphere' }).warn(warning);
      return openVSphere(config, context, memory, wrapHttp);
    },
  };
}

/** Up to so many VMs are searched one by one; for more, all are listed. */
const listAbove = 5;
/** No limit is documented; one call may be heavy. */
const callLimits = { perSecond: 10, burst: 50 };
const nilUuid = '00000000-0000-0000-0000-000000000000';

/** @param wrapHttp around every exchange, for worlds that count calls or answer themselves */
export function openVSphere(
  { vcenters, categories, roles, files }: VSphereConfig,
  { clock, random, onCall, onWait, env }: CloudContext,
  { lastSeen, refusals }: Memory,
  wrapHttp: (http: Http) => Http = (http) => http,
): OpenedCloud {
  const parts = vcenters.map((config) => {
    const { ca, insecure, thumbprint } = config;
    const tls = { keepAlive: true, maxSockets: 8, rejectUnauthorized: !insecure, ...(ca === undefined ? {} : { ca }) };
    const { http, close } = createHttp({
      clock,
      proxyFor: readProxies(env),
      tls,
      thumbprint: insecure ? undefined : thumbprint,
    });
    const gate = createRateLimiter({ cloud: 'vsphere', clock, random, limits: callLimits, onWait });
    const exchange = createExchange({ cloud: 'vsphere', http: wrapHttp(http), clock, gate, onCall });
    return {
      vcenter: createVCenter(config, exchange, clock, refusals),
      readZones: createZones(categories, clock),
      close,
    };
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
