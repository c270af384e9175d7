import type { CheckResult } from '../cloud.ts';
import type { OpenStackClient } from './client.ts';
import type { ServiceType } from './session.ts';

const permissions = [
  ['compute', '/servers/detail', 'os_compute_api:servers:detail', 'nodes cannot be looked up'],
  ['compute', '/flavors', 'os_compute_api flavor list', 'instance types may stay unknown'],
  ['network', '/ports', 'get_port', 'addresses stay unknown'],
] as const;

/** Token, catalog in the region, and each read that lookups need, with a page of one. */
export async function checkOpenStack(
  client: OpenStackClient,
  region: string | undefined,
  signal: AbortSignal | undefined,
): Promise<readonly CheckResult[]> {
  const results: CheckResult[] = [];
  const prove = async (name: string, proof: () => Promise<string>, advice: string): Promise<boolean> => {
    try {
      results.push({ name, ok: true, message: await proof() });
      return true;
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      results.push({ name, ok: false, message: advice === '' ? reason : `${reason}; ${advice}` });
      return false;
    }
  };
  const token = async () => {
    const { projectName, projectId } = await client.session();
    if (projectId === undefined) throw new Error('the token has no project');
    return `token for project ${projectName ?? projectId}`;
  };
  if (!(await prove('credentials', token, 'see [Global] of the cloud config or clouds.yaml'))) return results;
  const reached = new Set<ServiceType>();
  for (const service of ['compute', 'network'] as const) {
    const endpoint = async () =>
      `${await client.endpoint(service)}${region === undefined ? '' : ` in region ${region}`}`;
    if (await prove(`${service} endpoint`, endpoint, '')) reached.add(service);
  }
  for (const [service, path, policy, without] of permissions) {
    if (!reached.has(service)) continue;
    const read = async () => {
      await client.get({ service, path, operation: `GET ${path}`, query: [['limit', '1']], signal });
      return 'allowed';
    };
    await prove(`GET ${path}`, read, `without it (policy ${policy}) ${without}`);
  }
  return results;
}
