import { isCloudError } from '../../../common/cloud-error.ts';
import type { Clock } from '../../../common/process/clock.ts';
import { restOrAbort } from '../../../common/process/until.ts';
import { createChecks } from '../checks.ts';
import type { CheckResult } from '../cloud.ts';
import type { CloudStackClient } from './client.ts';
import type { CloudStackConfig } from './config.ts';
import { permissions } from './permissions.ts';
import { scopeOf } from './vms.ts';

/** A limit of calls counts each `listApis` twice, and is 25 a second where the operator turns it on. */
const betweenMs = 100;
/** The answer to `listApis` about a command that the role or the server does not have: an internal error. */
const noCommand = /unable to find an api by that name/i;

/** A read of VMs, and for each use whether the role has its commands: the API tells those that it would take. */
export async function checkCloudStack(
  config: CloudStackConfig,
  client: CloudStackClient,
  clock: Clock,
  signal: AbortSignal | undefined,
): Promise<readonly CheckResult[]> {
  const { results, prove } = createChecks();
  await prove({ name: 'VMs' }, 'see api-url, api-key, secret-key and project-id', async () => {
    await client.call('listVirtualMachines', { ...scopeOf(config), page: 1, pagesize: 1, details: 'min' }, { signal });
    return `read at ${new URL(config.endpoint).host}`;
  });
  for (const { neededFor, commands } of permissions) {
    const about = { name: `role for ${neededFor ?? 'all'}`, ...(neededFor && { neededFor: [neededFor] }) };
    await prove(about, 'see deploy/iam/cloudstack.json for the rules of the role', async () => {
      const missing: string[] = [];
      for (const name of commands) {
        await restOrAbort(clock, betweenMs, signal);
        if (!(await isAllowed(client, name, signal))) missing.push(name);
      }
      if (missing.length > 0) throw new Error(`the role does not have ${missing.join(', ')}`);
      return `has ${commands.join(', ')}`;
    });
  }
  return results;
}

async function isAllowed(client: CloudStackClient, name: string, signal: AbortSignal | undefined): Promise<boolean> {
  try {
    const found = (await client.call('listApis', { name }, { signal })).optionalObjects('api');
    return found.some((api) => api.optionalText('name') === name);
  } catch (error) {
    if (isCloudError(error) && noCommand.test(error.message)) return false;
    throw error;
  }
}
