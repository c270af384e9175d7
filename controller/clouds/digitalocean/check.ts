import { createChecks, createNothing } from '../checks.ts';
import type { CheckResult } from '../cloud.ts';
import { balancersPath, regionOf } from './balancers.ts';
import type { DigitalOceanClient } from './client.ts';
import type { DigitalOceanConfig } from './config.ts';
import { certificatesPath } from './driver.ts';
import { dropletsPath } from './droplets.ts';

const onePage = [['per_page', '1']] as const;

/** Each read that is needed, and that the token may write load balancers. */
export async function checkDigitalOcean(
  config: DigitalOceanConfig,
  client: DigitalOceanClient,
  signal: AbortSignal | undefined,
): Promise<readonly CheckResult[]> {
  const { results, prove } = createChecks();
  const read = (path: string) => client.call({ path, query: onePage, signal });
  await prove({ name: 'droplets' }, 'see DO_ACCESS_TOKEN: it needs the scope droplet:read', async () => {
    await read(dropletsPath);
    return `read at ${config.endpoint}`;
  });
  const { region, vpc } = config;
  if (vpc !== undefined)
    await prove({ name: 'VPC' }, 'see DO_CLUSTER_VPC_ID: the token needs the scope vpc:read', async () => {
      return `in ${await regionOf(client, vpc, signal)}`;
    });
  const neededFor = ['load balancers'] as const;
  await prove({ name: 'region', neededFor }, 'set REGION or DO_CLUSTER_VPC_ID', async () => {
    if (region === undefined && vpc === undefined) throw new Error('not known where load balancers are to be made');
    return region ?? 'that of the VPC';
  });
  const rights = 'the token needs load_balancer:read and certificate:read';
  await prove({ name: 'load balancers', neededFor }, rights, async () => {
    await read(balancersPath);
    await read(certificatesPath);
    return 'and certificates: read';
  });
  await prove({ name: 'writing', neededFor }, 'the token needs load_balancer:create, :update and :delete', () =>
    createNothing(client, balancersPath, signal),
  );
  return results;
}
