import type { VirtualMachineScaleSet } from '@azure/arm-compute';
import type { Answered } from './answered.ts';
import { type ArmClient, versions } from './client.ts';
import type { AzureConfig } from './config.ts';
import type { ReadOptions } from './network-resources.ts';
import { groupPath } from './resource-id.ts';

export type GroupPlace = Pick<AzureConfig, 'subscription' | 'resourceGroup'>;

const scaleSetsPath = ({ subscription, resourceGroup }: GroupPlace) =>
  groupPath(subscription, resourceGroup, 'Microsoft.Compute/virtualMachineScaleSets');

export const scaleSetPath = (place: GroupPlace, name: string) => `${scaleSetsPath(place)}/${encodeURIComponent(name)}`;

/** The scale sets of a resource group. Throws a CloudError. */
export function listScaleSets(
  client: ArmClient,
  place: GroupPlace,
  options: ReadOptions,
): Promise<readonly Answered<VirtualMachineScaleSet>[]> {
  const path = scaleSetsPath(place);
  return client.list({ operation: 'GET virtualMachineScaleSets', path, version: versions.compute, ...options });
}

/**
 * Names of the uniform scale sets of the configured resource group; none where `vmType` leaves them out. VMs of
 * flexible ones are VMs of the resource group. Throws a CloudError.
 */
export async function uniformScaleSets(
  client: ArmClient,
  config: AzureConfig,
  options: ReadOptions,
): Promise<readonly string[]> {
  if (config.vmType !== 'vmss') return [];
  const sets = await listScaleSets(client, config, options);
  const uniform = sets.filter((set) => set.object('properties').optionalText('orchestrationMode') !== 'Flexible');
  return uniform.map((set) => set.text('name'));
}
