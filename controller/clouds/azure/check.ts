import { createChecks } from '../checks.ts';
import type { Capability, CheckResult } from '../cloud.ts';
import { type ArmClient, versions } from './client.ts';
import type { AzureConfig, BalancerPlace } from './config.ts';
import { createArmDocuments } from './load-balancers/arm-documents.ts';
import {
  addressActions,
  balancerActions,
  missingActions,
  type NeededAction,
  networkActions,
  poolActions,
  securityActions,
  tableActions,
  vmActions,
} from './permissions.ts';
import { groupPath } from './resource-id.ts';
import { createRouteTableClient } from './route-table.ts';

/** A read of each kind, and every action that the roles of the credential lack: nothing is changed. */
export async function checkAzure(
  client: ArmClient,
  config: AzureConfig,
  signal: AbortSignal | undefined,
): Promise<readonly CheckResult[]> {
  const { results, prove } = createChecks();
  const unsure: CheckResult[] = [];
  const { subscription, resourceGroup, routeTable } = config;

  /** One line for each capability, so that a cluster without it passes. */
  async function proveActions(place: string, group: string, needed: readonly NeededAction[]): Promise<void> {
    const capabilities = [...new Set(needed.flatMap(({ neededFor }) => neededFor))];
    const path = groupPath(place, group, 'Microsoft.Authorization/permissions');
    const request = { operation: 'GET permissions', path, version: versions.authorization, signal };
    const reading = client.list(request);
    for (const capability of capabilities)
      await prove(about(`permissions in ${group}`, capability), 'see deploy/iam/azure-role.json', async () => {
        const own = needed.filter(({ neededFor }) => neededFor.includes(capability));
        const missing = missingActions(await reading, own);
        const always = missing.filter(({ onlyWith }) => onlyWith === undefined);
        const others = missing.filter(({ onlyWith }) => onlyWith !== undefined);
        const listed = others.map(({ action, onlyWith }) => `${action} (only with ${onlyWith})`).join(', ');
        if (others.length > 0)
          unsure.push({ ...about(`permissions in ${group}`, capability), ok: null, message: `not allowed: ${listed}` });
        if (always.length === 0) return `${own.length - others.length} of ${own.length} actions are allowed`;
        throw new Error(`not allowed: ${always.map(({ action }) => action).join(', ')}`);
      });
  }

  await prove({ name: 'virtual machines' }, 'see resourceGroup and the role of the credential', async () => {
    const path = groupPath(subscription, resourceGroup, 'Microsoft.Compute/virtualMachines');
    const request = { operation: 'GET virtualMachines', path, version: versions.compute, signal };
    return `${(await client.list(request)).length} in ${resourceGroup}`;
  });
  await proveActions(subscription, resourceGroup, vmActions);
  if (config.balancers !== undefined) await checkBalancers(config.balancers);
  if (routeTable === undefined) return [...results, ...unsure];
  await prove(about('route table', 'routes'), 'see routeTableName', async () => {
    const { etag, routes } = await createRouteTableClient(client, routeTable).read({ signal });
    if (etag !== undefined) return `${routeTable.name}: ${routes.length} routes`;
    if (routeTable.location !== undefined) return `${routeTable.name} is not there: the first route creates it`;
    throw new Error(
      `${routeTable.name} is not in ${routeTable.resourceGroup}, and no location says where to create it`,
    );
  });
  await proveActions(routeTable.subscription, routeTable.resourceGroup, tableActions);
  return [...results, ...unsure];

  async function checkBalancers(place: BalancerPlace): Promise<void> {
    const { securityGroup, virtualNetwork } = place;
    const io = { signal };
    const listed = (type: string) => createArmDocuments(client, { ...place, type }).all(io);
    await prove(about('load balancers', 'load balancers'), 'see loadBalancerResourceGroup', async () => {
      return `${(await listed('loadBalancers')).length} in ${place.resourceGroup}`;
    });
    if (securityGroup !== undefined)
      await prove(about('security group', 'load balancers'), 'see securityGroupName', async () => {
        const { resourceGroup: group, name } = securityGroup;
        const of = { ...place, resourceGroup: group, type: 'networkSecurityGroups' };
        if ((await createArmDocuments(client, of).read(name, io)) !== undefined) return `${name} in ${group}`;
        throw new Error(`${name} is not in ${group}`);
      });
    const { subscription: own, machines } = place;
    const needed = [
      { at: own, group: place.resourceGroup, actions: [...balancerActions, ...addressActions] },
      { at: own, group: place.addressGroup, actions: addressActions },
      { at: own, group: virtualNetwork.split('/')[4] ?? '', actions: networkActions },
      ...(place.poolMembers === 'interfaces'
        ? [{ at: machines.subscription, group: machines.resourceGroup, actions: poolActions }]
        : []),
      ...(securityGroup === undefined
        ? []
        : [{ at: own, group: securityGroup.resourceGroup, actions: securityActions }]),
    ];
    for (const some of Map.groupBy(needed, ({ at, group }) => `${at}/${group}`).values()) {
      const actions = new Set(some.flatMap((one) => one.actions));
      await proveActions(some[0]!.at, some[0]!.group, [...actions]);
    }
  }
}

function about(name: string, capability: Capability): Pick<CheckResult, 'name' | 'neededFor'> {
  return { name, neededFor: [capability] };
}
