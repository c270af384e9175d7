import { changesOf, createChecks, readNone } from '../checks.ts';
import type { CheckResult } from '../cloud.ts';
import { networkClass } from './annotations.ts';
import type { AlibabaClient, Params } from './client.ts';
import type { Product } from './config.ts';
import type { Place } from './place.ts';

/** Each read that is needed, and where the cluster stands. */
export async function checkAlibaba(
  client: AlibabaClient,
  place: Place,
  signal: AbortSignal | undefined,
): Promise<readonly CheckResult[]> {
  const { results, prove } = createChecks();
  const read = (product: Product, action: string, params: Params = {}) =>
    client.call({ product, action, params, signal });
  const policy = 'the RAM policy needs what deploy/iam/alibaba-policy.json has';
  await prove({ name: 'credentials' }, 'see ACCESS_KEY_ID, ALIBABA_CLOUD_ROLE_ARN or the RAM role', async () => {
    return `${(await read('sts', 'GetCallerIdentity')).text('Arn')} in ${await client.region(signal)}`;
  });
  await prove({ name: 'instances' }, policy, async () => {
    await read('ecs', 'DescribeInstances', { MaxResults: 1 });
    await readNone(read('ecs', 'DescribeInstanceAttribute', { InstanceId: 'i-0' }));
    return 'read';
  });
  await prove({ name: 'route tables', neededFor: ['routes'] }, policy, async () => {
    const tables = await place.routeTables(signal);
    await read('vpc', 'DescribeRouteEntryList', { RouteTableId: tables[0]!, MaxResult: 1 });
    return tables.join(', ');
  });
  await prove({ name: 'load balancers', neededFor: ['load balancers'] }, policy, async () => {
    await read('slb', 'DescribeLoadBalancers', { PageSize: 1 });
    await read('slb', 'DescribeLoadBalancerListeners', { MaxResults: 1 });
    await read('slb', 'DescribeAccessControlLists', { PageSize: 1 });
    await readNone(read('slb', 'DescribeLoadBalancerAttribute', { LoadBalancerId: 'lb-0' }));
    await readNone(read('slb', 'DescribeVServerGroups', { LoadBalancerId: 'lb-0' }));
    await readNone(read('slb', 'DescribeVServerGroupAttribute', { VServerGroupId: 'rsp-0' }));
    await readNone(read('slb', 'DescribeAccessControlListAttribute', { AclId: 'acl-0' }));
    return 'read';
  });
  await prove({ name: 'network interfaces', neededFor: ['load balancers'] }, policy, async () => {
    await read('ecs', 'DescribeNetworkInterfaces', { VpcId: await place.vpc(signal), MaxResults: 10 });
    return 'read';
  });
  await prove({ name: 'network load balancers', neededFor: ['load balancers'] }, policy, async () => {
    for (const action of ['ListLoadBalancers', 'ListListeners', 'ListServerGroups'])
      await read('nlb', action, { MaxResults: 1 });
    await readNone(read('nlb', 'GetLoadBalancerAttribute', { LoadBalancerId: 'nlb-0' }));
    await readNone(read('nlb', 'ListServerGroupServers', { ServerGroupId: 'sgp-0' }));
    await readNone(read('nlb', 'GetJobStatus', { JobId: '0' }));
    return "read. Not proved: ram:CreateServiceLinkedRole, for the account's first one";
  });
  const changes = changesOf(`no call of vpc, slb and nlb that changes something is tried; ${policy}`);
  return [...results.map(unlessNeeded), changes];
}

/** Who alone needs it, so that it is no failure for others. */
const neededBy: Readonly<Record<string, string>> = {
  'network interfaces': 'whose members are pods',
  'network load balancers': `of the class ${networkClass}`,
};

function unlessNeeded(one: CheckResult): CheckResult {
  const by = neededBy[one.name];
  return one.ok || by === undefined
    ? one
    : { ...one, ok: null, message: `${one.message}; only Services ${by} need it` };
}
