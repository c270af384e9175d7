import { CloudError } from '../../../common/cloud-error.ts';
import { cloudstack } from '../../../common/provider-id/cloudstack.ts';
import type { CloudIdentity, OpenedCloud } from '../cloud.ts';
import { type CloudParts, configuredModule } from '../configured-module.ts';
import { openConnections } from '../connections.ts';
import { createMachineLookups, targetBy } from '../lookups.ts';
import { createRateLimiter } from '../rate-limiter.ts';
import { checkCloudStack } from './check.ts';
import { type CloudStackClient, createClient } from './client.ts';
import { type CloudStackConfig, readConfig } from './config.ts';
import { cloud } from './fault.ts';
import { createLoadBalancerDriver } from './load-balancers/driver.ts';
import { createVms } from './vms.ts';

/** CloudStack: VMs and load balancers of one account or project. Opening makes no call. */
export const cloudModule = configuredModule(cloud, readConfig, openCloudStack);

/** Where the operator has set a limit, it is 25 calls a second by default, of which others make some, too. */
const limits = { perSecond: 10, burst: 50 };

/** One account or project. Makes no call. */
export function openCloudStack({ config, context, wrapHttp }: CloudParts<CloudStackConfig>): OpenedCloud {
  const { clock, random, onCall, onWait, mutationTimeoutMs = 10_000 } = context;
  const tls = config.isInsecure ? { rejectUnauthorized: false } : {};
  const { http, close } = openConnections(context, { wrapHttp, tls });
  const { endpoint, apiKey, secretKey } = config;
  const rateLimiter = createRateLimiter({ cloud, clock, random, limits, onWait });
  const client = createClient({ http, clock, onCall, rateLimiter, endpoint, apiKey, secretKey, mutationTimeoutMs });
  const identify = async (signal?: AbortSignal): Promise<CloudIdentity> => {
    const account = await accountOf(client, config, signal);
    return { scope: `${new URL(endpoint).host}/${account}`, account };
  };
  return {
    name: cloud,
    identify,
    ...createMachineLookups({ cloud, targetOf, machines: () => [createVms(client, config)] }),
    loadBalancerDriver: createLoadBalancerDriver(client, config, clock),
    ping: async (signal) => void (await identify(signal)),
    check: (signal) => checkCloudStack(config, client, clock, signal),
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

const targetOf = targetBy((providerID) => cloudstack.parse(providerID)?.instanceId, 'VM of CloudStack');
