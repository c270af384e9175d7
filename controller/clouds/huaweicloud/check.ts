import { createChecks } from '../checks.ts';
import type { CheckResult } from '../cloud.ts';
import type { HuaweiClient } from './client.ts';
import type { HuaweiConfig } from './config.ts';

/** Each read that is needed, once. */
export async function checkHuawei(
  { region, key, vpc, endpointOf }: HuaweiConfig,
  client: HuaweiClient,
  signal: AbortSignal | undefined,
): Promise<readonly CheckResult[]> {
  const { results, prove } = createChecks();
  const keys = key === undefined ? 'the agency of this ECS' : 'access-key and secret-key';
  await prove({ name: 'project' }, `see project-id, and ${keys}`, async () => {
    return `${await client.project(signal)} in ${region}`;
  });
  await prove({ name: 'servers' }, `${keys}: the right ecs:cloudServers:list is needed`, async () => {
    await readOneServer(client, signal);
    return `read at ${endpointOf('ecs')}`;
  });
  const neededFor = ['routes'] as const;
  await prove({ name: 'VPC', neededFor }, 'set [Vpc] id or ROUTER_ID', async () => {
    if (vpc === undefined) throw new Error('not known whose route tables are to be used');
    return vpc;
  });
  await prove({ name: 'route tables', neededFor }, 'the right vpc:routeTables:list is needed', async () => {
    const query = vpc === undefined ? [] : [['vpc_id', vpc] as const];
    const request = { service: 'vpc', path: '/v1/{project}/routetables', query, signal } as const;
    return `${(await client.list(request, 'routetables')).length} read`;
  });
  const balancing = { name: 'load balancers', neededFor: ['load balancers'] } as const;
  await prove(balancing, 'the rights for elb and vpc of deploy/iam/huaweicloud-policy.json are needed', async () => {
    const one = { query: [['limit', '1']] as const, signal };
    for (const name of ['loadbalancers', 'listeners', 'pools', 'members', 'healthmonitors', 'ipgroups'])
      await client.call({ service: 'elb', path: `/v3/{project}/elb/${name}`, ...one });
    await client.call({ service: 'eip', path: '/v3/{project}/eip/publicips', ...one });
    await client.call({ service: 'vpc', path: '/v1/{project}/subnets', ...one });
    return `read at ${endpointOf('elb')}`;
  });
  return results;
}

/** One harmless read, which is refused where the credential is not of the project. */
export async function readOneServer(client: HuaweiClient, signal: AbortSignal | undefined): Promise<void> {
  const query = [['limit', '1']] as const;
  await client.call({ service: 'ecs', path: '/v1/{project}/cloudservers/detail', query, signal });
}
