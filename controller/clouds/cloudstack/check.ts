import { createChecks } from '../checks.ts';
import type { CheckResult } from '../cloud.ts';
import { inParallel } from '../parallel.ts';
import type { CloudStackClient } from './client.ts';
import type { CloudStackConfig } from './config.ts';
import { permissions } from './permissions.ts';
import { scopeOf } from './vms.ts';

const callsAtOnce = 4;

/** A read of VMs, and for each use whether the role has its commands: the API tells those that it would take. */
export async function checkCloudStack(
  config: CloudStackConfig,
  client: CloudStackClient,
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
      const missing = (await inParallel(callsAtOnce, commands, (name) => isAllowed(client, name, signal))).flat();
      if (missing.length > 0) throw new Error(`the role does not have ${missing.join(', ')}`);
      return `has ${commands.join(', ')}`;
    });
  }
  return results;
}

/** Nothing, or the name of the command that the role does not have. */
async function isAllowed(client: CloudStackClient, name: string, signal: AbortSignal | undefined): Promise<string[]> {
  try {
    const found = (await client.call('listApis', { name }, { signal })).optionalObjects('api');
    return found.some((api) => api.optionalText('name') === name) ? [] : [name];
  } catch {
    // What the role does not have is an error as well.
    return [name];
  }
}
