import { createChecks } from '../checks.ts';
import type { Capability, CheckResult } from '../cloud.ts';
import type { JsonApi } from '../json-api.ts';
import type { GceClient } from './client.ts';
import { permissions } from './permissions.ts';

export interface CheckParts {
  readonly client: GceClient;
  readonly resourceManager: JsonApi;
  /** Where the credential is from. */
  readonly from: string;
  readonly endpoint: string;
  project(signal: AbortSignal | undefined): Promise<string>;
  network(): Promise<{ readonly project: string; readonly name: string }>;
  /** Whether it is known where load balancers are to be made. */
  readonly hasLoadBalancers: boolean;
}

/** The project, each permission by its name in the project that needs it, and the routes of the network's project. */
export async function checkGce(
  { client, resourceManager, from, endpoint, project, network, hasLoadBalancers }: CheckParts,
  signal: AbortSignal | undefined,
): Promise<readonly CheckResult[]> {
  const { results, prove } = createChecks();
  const advice = `the credential is that of ${from}`;
  await prove({ name: 'project' }, advice, async () => `${await project(signal)}, read at ${endpoint}`);
  for (const { neededFor, names } of permissions) {
    if (neededFor === 'load balancers' && !hasLoadBalancers) continue;
    await prove({ name: `permissions for ${neededFor}`, neededFor: [neededFor] }, advice, async () => {
      const own = await project(signal);
      const host = neededFor === 'nodes' ? own : (await network()).project;
      const granted: string[] = [];
      for (const where of new Set([host, own])) {
        const some = names.filter((name) => projectOf(name, neededFor, own, host) === where);
        if (some.length === 0) continue;
        const missing = await missingOf(resourceManager, where, some, signal);
        if (missing.length > 0) throw new Error(`missing in project ${where}: ${missing.join(', ')}`);
        granted.push(`granted in project ${where}: ${some.join(', ')}`);
      }
      return granted.join('; ');
    });
  }
  await prove({ name: 'network', neededFor: ['routes'] }, 'see network-name and network-project-id', async () => {
    const { project: host, name } = await network();
    const path = `/projects/${host}/global/routes`;
    const query = [['maxResults', '1']] as const;
    await client.call({ path, operation: 'routes.list', query, signal });
    return `routes of ${name} in project ${host}`;
  });
  return results;
}

/** The VMs are not in the project of a Shared VPC, and its firewall rules are left to others. */
function projectOf(name: string, neededFor: Capability, own: string, host: string): string | undefined {
  if (neededFor === 'routes') return name.startsWith('compute.instances.') ? own : host;
  if (/\.firewalls\.|\.updatePolicy$/.test(name)) return own === host ? own : undefined;
  return /\.(sub)?networks\./.test(name) ? host : own;
}

/** Reads only: a test of permissions is a POST, and needs no permission. */
async function missingOf(
  resourceManager: JsonApi,
  project: string,
  names: readonly string[],
  signal: AbortSignal | undefined,
): Promise<string[]> {
  const path = `/v1/projects/${project}:testIamPermissions`;
  const request = { method: 'POST', path, operation: 'projects.testIamPermissions', signal } as const;
  const answer = await resourceManager.call({ ...request, body: { permissions: names } });
  const granted = answer.json()['permissions'] == null ? [] : answer.texts('permissions');
  return names.filter((name) => !granted.includes(name));
}
