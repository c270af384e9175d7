import { createHttp, type Http } from '../../../common/process/http.ts';
import { readProxies } from '../../../common/process/proxy-environment.ts';
import { ovirt } from '../../../common/provider-id/ovirt.ts';
import type { CloudContext, CloudIdentity, CloudModule, InstanceRef, OpenedCloud } from '../cloud.ts';
import { configFilesOf } from '../config-files.ts';
import { lookupPass, type Target } from '../lookup-pass.ts';
import { createMachineReader } from '../machines.ts';
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
  return {
    name: cloud,
    async open(file, context) {
      const config = await readConfig(file, context.env, configFilesOf(cloud).readText);
      if ('reportOnly' in config) return config;
      for (const warning of config.warnings) context.log.warn(warning, { cloud });
      if (!isTold) context.log.info('nodes alone: oVirt has no load balancers and no routes', { cloud });
      isTold = true;
      return openOvirt({ config, context });
    },
  };
}

/** Up to so many VMs are asked for one by one; for more, all are listed. */
const listAbove = 5;
/** No limit is documented; a list with NICs is heavy. */
const limits = { perSecond: 10, burst: 50 };

export interface OvirtParts {
  readonly config: OvirtConfig;
  readonly context: CloudContext;
  /** Around every exchange, for worlds that count calls or answer themselves. */
  readonly wrapHttp?: (http: Http) => Http;
}

/** One engine. Makes no call. */
export function openOvirt({ config, context, wrapHttp = (http) => http }: OvirtParts): OpenedCloud {
  const { clock, random, onCall, onWait } = context;
  const { endpoint, ca, insecure, user } = config;
  const pool = { keepAlive: true, maxSockets: 8 };
  const tls = { ...pool, rejectUnauthorized: !insecure, ...(ca === undefined ? {} : { ca }) };
  const { http, close } = createHttp({ clock, proxyFor: readProxies(context.env), plain: pool, tls });
  const calls = { http: wrapHttp(http), clock, onCall };
  const gate = createRateLimiter({ cloud, clock, random, limits, onWait });
  const engine = createEngine({ ...calls, gate, endpoint }, createTokens(config, calls));

  async function identify(signal?: AbortSignal): Promise<CloudIdentity> {
    const id = (await engine.product(signal)).optionalText('instance_id');
    const host = new URL(endpoint).host;
    if (id === undefined) return { scope: `engine/${host}`, account: host };
    // Engines before 4.4 did not tell it.
    return { scope: `engine/${id}`, account: id, formerScopes: [`engine/${host}`] };
  }
  return {
    name: cloud,
    identify,
    accepts: (providerID) => targetOf({ by: 'providerID', providerID }).ask === 'id',
    instances: {
      batchSize: 1000,
      lookup: (refs, options) => {
        const reader = createMachineReader(cloud, [createVms(engine, config)]);
        return lookupPass({ ...options, cloud, refs, reader, listAbove, targetOf });
      },
    },
    files: config.files,
    ping: async (signal) => void (await identify(signal)),
    check: (signal) =>
      checkOvirt(config, engine, {
        identify: async () => `${user} on engine ${(await identify(signal)).account}`,
        signal,
      }),
    close,
  };
}

function targetOf(ref: InstanceRef): Target {
  if (ref.by === 'name') return { ask: 'name', name: ref.name };
  const id = ovirt.parse(ref.providerID)?.instanceId;
  if (id !== undefined) return { ask: 'id', id, by: 'providerID' };
  return { ask: 'nothing', problem: `${JSON.stringify(ref.providerID)} is no VM of oVirt` };
}
