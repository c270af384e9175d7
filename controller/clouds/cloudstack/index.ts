import { CloudError } from '../../../common/cloud-error.ts';
import { createHttp, type Http } from '../../../common/process/http.ts';
import { readProxies } from '../../../common/process/proxy-environment.ts';
import { cloudstack } from '../../../common/provider-id/cloudstack.ts';
import type {
  CloudConfigFile,
  CloudContext,
  CloudIdentity,
  CloudModule,
  InstanceRef,
  OpenedCloud,
  ReportOnlyCloud,
} from '../cloud.ts';
import { lookupPass, type Target } from '../lookup-pass.ts';
import { createMachineReader } from '../machines.ts';
import { createRateLimiter } from '../rate-limiter.ts';
import { checkCloudStack } from './check.ts';
import { type CloudStackClient, createClient } from './client.ts';
import { type CloudStackConfig, readConfig } from './config.ts';
import { cloud } from './fault.ts';
import { createLoadBalancerDriver } from './load-balancers/driver.ts';
import { createVms } from './vms.ts';

/** CloudStack: VMs and load balancers of one account or project. Opening makes no call. */
export const cloudModule: CloudModule = { name: cloud, open };

/** Up to so many VMs are asked for one by one; more, and all of the scope are listed. */
const listAbove = 2;
/** As many as Services are worked on at once: a call that waits here was permitted too early. */
const maxSockets = 48;
/** Where the operator has set a limit, it is 25 calls a second by default, of which others make some, too. */
const limits = { perSecond: 10, burst: 50 };

export interface CloudStackParts {
  readonly config: CloudStackConfig;
  readonly context: CloudContext;
  /** Around every exchange, for worlds that lose answers or count calls. */
  readonly wrapHttp?: (http: Http) => Http;
}

async function open(file: CloudConfigFile | undefined, context: CloudContext): Promise<OpenedCloud | ReportOnlyCloud> {
  const config = readConfig(file);
  if ('reportOnly' in config) return config;
  for (const warning of config.warnings) context.log.warn(warning, { cloud });
  return openCloudStack({ config, context });
}

/** One account or project. Makes no call. */
export function openCloudStack({ config, context, wrapHttp = (http) => http }: CloudStackParts): OpenedCloud {
  const { clock, random, onCall, onWait, mutationTimeoutMs = 10_000 } = context;
  const pool = { keepAlive: true, maxSockets };
  const tls = { ...pool, ...(config.isInsecure && { rejectUnauthorized: false }) };
  const { http, close } = createHttp({ clock, proxyFor: readProxies(context.env), plain: pool, tls });
  const { endpoint, apiKey, secretKey } = config;
  const gate = createRateLimiter({ cloud, clock, random, limits, onWait });
  const client = createClient({
    ...{ http: wrapHttp(http), clock, onCall, gate, endpoint, apiKey, secretKey, mutationTimeoutMs },
  });
  const identify = async (signal?: AbortSignal): Promise<CloudIdentity> => {
    const account = await accountOf(client, config, signal);
    return { scope: `${new URL(endpoint).host}/${account}`, account };
  };
  return {
    name: cloud,
    identify,
    accepts: (providerID) => targetOf({ by: 'providerID', providerID }).ask === 'id',
    instances: {
      batchSize: 1000,
      lookup: (refs, options) => {
        const reader = createMachineReader(cloud, [createVms(client, config)]);
        return lookupPass({ ...options, cloud, refs, reader, listAbove, targetOf });
      },
    },
    loadBalancerDriver: createLoadBalancerDriver({ client, config, clock }),
    ping: async (signal) => void (await identify(signal)),
    check: (signal) => checkCloudStack(config, client, signal),
    close,
  };
}

/** UUID of the project or, without one, of the account that the key belongs to. */
async function accountOf(
  client: CloudStackClient,
  { project, apiKey }: CloudStackConfig,
  signal: AbortSignal | undefined,
): Promise<string> {
  const wrong = (operation: string, message: string) => new CloudError({ kind: 'Invalid', cloud, operation, message });
  if (project !== undefined) {
    const found = await client.list('listProjects', 'project', { id: project, listall: true }, { signal });
    if (found.length === 1) return found[0]!.text('id');
    throw wrong('listProjects', `project-id: ${JSON.stringify(project)}, expected a project that the account sees`);
  }
  const accounts = await client.list('listAccounts', 'account', {}, { signal });
  // Root sees those of all others, too, depending on the version.
  const own = accounts.filter((one) => one.optionalObjects('user').some((user) => user.json()['apikey'] === apiKey));
  const [account, ...others] = own.length > 0 ? own : accounts;
  if (account !== undefined && others.length === 0) return account.text('id');
  throw wrong(
    'listAccounts',
    `${accounts.length} accounts are shown, expected that of the api-key alone: set project-id`,
  );
}

function targetOf(ref: InstanceRef): Target {
  if (ref.by === 'name') return { ask: 'name', name: ref.name };
  const id = cloudstack.parse(ref.providerID)?.instanceId;
  if (id !== undefined) return { ask: 'id', id, by: 'providerID' };
  return { ask: 'nothing', problem: `${JSON.stringify(ref.providerID)} is no VM of CloudStack` };
}
