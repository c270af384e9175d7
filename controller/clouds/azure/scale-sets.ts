import { type ArmClient, versions } from './client.ts';
import type { AzureConfig } from './config.ts';
import type { ReadOptions } from './network-resources.ts';
import { groupPath } from './resource-id.ts';

/**
 * Names of the uniform scale sets of the configured resource group; none where `vmType` leaves them out. VMs of
 * flexible ones are VMs of the resource group. Throws a CloudError.
 */
export async function uniformScaleSets(
  client: ArmClient,
  { vmType, subscription, resourceGroup }: AzureConfig,
  options: ReadOptions,
): Promise<readonly string[]> {
  if (vmType !== 'vmss') return [];
  const path = groupPath(subscription, resourceGroup, 'Microsoft.Compute/virtualMachineScaleSets');
  const request = { operation: 'GET virtualMachineScaleSets', path, version: versions.compute };
  const sets = await client.list({ ...request, ...options });
  const uniform = sets.filter((set) => set.object('properties').optionalText('orchestrationMode') !== 'Flexible');
  return uniform.map((set) => set.text('name'));
}
