import { adviceWhenDown, createChecks } from '../checks.ts';
import type { CheckResult } from '../cloud.ts';
import type { Routes } from '../routes.ts';
import type { SimulatedClient } from './client.ts';
import type { SimulatedConfig } from './config.ts';
import { refusalOf } from './fault.ts';
import type { SimulatedDriver } from './load-balancer-driver.ts';

export interface Provable {
  readonly client: SimulatedClient;
  readonly config: SimulatedConfig;
  readonly driver: SimulatedDriver;
  readonly routes: Routes;
}

/** Each read that is needed. */
export async function checkSimulated(
  { client, config, driver, routes }: Provable,
  signal?: AbortSignal,
): Promise<readonly CheckResult[]> {
  const { endpoint, project, region } = config;
  const { results, prove } = createChecks(whenDown);
  await prove({ name: 'region' }, 'see endpoint, project, region, and credential or credentialFile', async () => {
    await client.region(signal);
    return `${endpoint} serves region ${region} of project ${project} to this credential`;
  });
  await prove({ name: 'instances' }, 'the credential needs the right to read instances', async () => {
    if (await client.any(signal)) return 'instances can be listed';
    return `no instance is visible: if project ${project} has any in ${region}, the credential is another project's`;
  });
  const balancing = 'the credential needs the right to read load balancers and addresses';
  await prove({ name: 'load balancers' }, balancing, async () => {
    await driver.probe(signal);
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
