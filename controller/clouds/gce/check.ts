import { createChecks } from '../checks.ts';
import type { CheckResult } from '../cloud.ts';
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
}

/** The project, each permission by its name, and the network of the routes. */
export async function checkGce(
  { client, resourceManager, from, endpoint, project, network }: CheckParts,
  signal: AbortSignal | undefined,
): Promise<readonly CheckResult[]> {
  const { results, prove } = createChecks();
  const advice = `the credential is that of ${from}`;
  await prove({ name: 'project' }, advice, async () => `${await project(signal)}, read at ${endpoint}`);
  for (const { neededFor, names } of permissions)
    await prove({ name: `permissions for ${neededFor}`, neededFor: [neededFor] }, advice, async () => {
      const where = neededFor === 'routes' ? (await network()).project : await project(signal);
      const missing = await missingOf(resourceManager, where, names, signal);
      if (missing.length > 0) throw new Error(`missing in project ${where}: ${missing.join(', ')}`);
      return `granted in project ${where}: ${names.join(', ')}`;
    });
  await prove({ name: 'network', neededFor: ['routes'] }, 'see network-name and network-project-id', async () => {
    const { project: host, name } = await network();
    const path = `/projects/${host}/global/routes`;
    const query = [['maxResults', '1']] as const;
    await client.call({ path, operation: 'routes.list', query, signal });
    return `routes of ${name} in project ${host}`;
  });
  return results;
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
