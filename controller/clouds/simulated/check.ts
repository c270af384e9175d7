import { oneOfIn } from '../answer-values.ts';
import { adviceWhenDown, createChecks } from '../checks.ts';
import type { CheckResult } from '../cloud.ts';
import type { JsonApi } from '../json-api.ts';
import type { Routes } from '../routes.ts';
import type { SimulatedConfig } from './config.ts';
import { refusalOf } from './fault.ts';

export interface Provable {
  readonly api: JsonApi;
  readonly config: SimulatedConfig;
  readonly routes: Routes;
}

/** Whether the region is there and the credential is good for it. Throws a CloudError. */
export async function readRegion({ api, config }: Omit<Provable, 'routes'>, signal?: AbortSignal): Promise<void> {
  oneOfIn(await api.call({ operation: 'regions.get', path: '/', signal }), 'region', [config.region]);
}

/** Each read that is needed. */
export async function checkSimulated(
  { api, config, routes }: Provable,
  signal?: AbortSignal,
): Promise<readonly CheckResult[]> {
  const { endpoint, project, region } = config;
  const { results, prove } = createChecks(whenDown);
  const readOne = (what: string) =>
    api.call({ operation: `${what}.list`, path: `/${what}`, query: [['limit', '1']], signal });
  await prove({ name: 'region' }, 'see endpoint, project, region, and credential or credentialFile', async () => {
    await readRegion({ api, config }, signal);
    return `${endpoint} serves region ${region} of project ${project} to this credential`;
  });
  await prove({ name: 'instances' }, 'the credential needs the right to read instances', async () => {
    const found = await readOne('instances');
    if (found.objects('items').length > 0) return 'instances can be listed';
    return `no instance is visible: if project ${project} has any in ${region}, the credential is another project's`;
  });
  const balancing = 'the credential needs the right to read load balancers and addresses';
  await prove({ name: 'load balancers' }, balancing, async () => {
    await readOne('load-balancers');
    await readOne('addresses');
    return 'load balancers and addresses can be listed';
  });
  await prove({ name: 'routes' }, 'the credential needs the right to read routes', async () => {
    // No cluster has an empty UID: all that counts is that the table can be read.
    const { routes: seen, quota } = await routes.observe('', signal);
    const room = quota && `${seen.length} routes, ${quota.used} of ${quota.limit} in use`;
    return room ?? `${seen.length} routes; the cloud tells no limit`;
  });
  return results;
}

/** An endpoint that answered is reachable. */
function whenDown(error: unknown): string {
  return refusalOf(error) === undefined ? adviceWhenDown : "see the cloud's status, and try again later";
}
