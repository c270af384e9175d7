import { changesOf, createChecks, readNone } from '../checks.ts';
import type { CheckResult } from '../cloud.ts';
import type { HuaweiClient, Service } from './client.ts';
import type { HuaweiConfig } from './config.ts';

/** Each read that is needed, once; those by id ask for what cannot exist. */
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
  const policy = 'deploy/iam/huaweicloud-policy.json';
  const none = (service: Service, path: string) =>
    readNone(client.call({ service, path: `${path}/00000000-0000-0000-0000-000000000000`, signal }));
  await prove({ name: 'servers' }, `${keys}: the rights for ecs of ${policy} are needed`, async () => {
    await readOneServer(client, signal);
    await none('ecs', '/v1/{project}/cloudservers');
    return `read at ${endpointOf('ecs')}`;
  });
  const neededFor = ['routes'] as const;
  await prove({ name: 'VPC', neededFor }, 'set [Vpc] id or ROUTER_ID', async () => {
    if (vpc === undefined) throw new Error('not known whose route tables are to be used');
    return vpc;
  });
  await prove({ name: 'route tables', neededFor }, `the rights for vpc of ${policy} are needed`, async () => {
    const query = vpc === undefined ? [] : [['vpc_id', vpc] as const];
    const request = { service: 'vpc', path: '/v1/{project}/routetables', query, signal } as const;
    const tables = await client.list(request, 'routetables');
    await none('vpc', '/v1/{project}/routetables');
    return `${tables.length} read`;
  });
  const balancing = { name: 'load balancers', neededFor: ['load balancers'] } as const;
  await prove(balancing, `the rights for elb and vpc of ${policy} are needed`, async () => {
    const one = { query: [['limit', '1']] as const, signal };
    for (const name of ['loadbalancers', 'listeners', 'pools', 'members', 'healthmonitors', 'ipgroups'])
      await client.call({ service: 'elb', path: `/v3/{project}/elb/${name}`, ...one });
    await client.call({ service: 'eip', path: '/v3/{project}/eip/publicips', ...one });
    await client.call({ service: 'vpc', path: '/v1/{project}/subnets', ...one });
    for (const name of ['loadbalancers', 'ipgroups']) await none('elb', `/v3/{project}/elb/${name}`);
    await none('eip', '/v3/{project}/eip/publicips');
    return `read at ${endpointOf('elb')}`;
  });
  return [...results, changesOf(`no call of vpc, elb and eip that changes something is tried; see ${policy}`)];
}

/** One harmless read, which is refused where the credential is not of the project. */
export async function readOneServer(client: HuaweiClient, signal: AbortSignal | undefined): Promise<void> {
  const query = [['limit', '1']] as const;
  await client.call({ service: 'ecs', path: '/v1/{project}/cloudservers/detail', query, signal });
}
