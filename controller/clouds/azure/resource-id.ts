import { azureResourceId } from '../../../common/provider-id/azure.ts';
import { resourceName } from './config.ts';

/** The parts of a resource id that a request is made of. Names compare without case. */
export interface VmId {
  /** As Resource Manager writes it, subscription and resource group in lower case. */
  readonly id: string;
  readonly subscription: string;
  readonly resourceGroup: string;
  /** Of an instance of a uniform scale set. */
  readonly scaleSet: string | undefined;
  readonly name: string;
}

/** Undefined for what is no VM, and for names that no request can have. */
export function readVmId(text: string): VmId | undefined {
  const id = azureResourceId(text);
  const [, , subscription, , resourceGroup, , , , set, , name] = id?.split('/') ?? [];
  if (id === undefined || subscription === undefined || resourceGroup === undefined || set === undefined)
    return undefined;
  const parts = name === undefined ? [set] : [set, name];
  if (![subscription, resourceGroup, ...parts].every((part) => resourceName.test(part))) return undefined;
  return { id, subscription, resourceGroup, scaleSet: name === undefined ? undefined : set, name: name ?? set };
}

/** A resource id as a path: each segment encoded, none that would leave its place. Undefined for no resource id. */
export function pathOf(id: string): string | undefined {
  const segments = id.split('/').slice(1);
  if (!/^\/subscriptions\//i.test(id) || !segments.every((one) => resourceName.test(one))) return undefined;
  return `/${segments.map(encodeURIComponent).join('/')}`;
}

/** Where everything of a provider in a resource group stands. */
export function groupPath(subscription: string, resourceGroup: string, provider: string): string {
  return `/subscriptions/${subscription}/resourceGroups/${encodeURIComponent(resourceGroup)}/providers/${provider}`;
}
