import { type Found, isOwnedBy } from '../../../engine/resource.ts';
import type { AdoptionInput } from '../../load-balancer-driver.ts';
import type { LoadBalancerConfig } from '../load-balancer-config.ts';
import { type FloatingIp, floatingAddressAt } from '../network/floating-ip.ts';
import { networkKinds } from '../network/network-kinds.ts';
import { adoptedNetworkKey } from '../network/network-resources.ts';
import { keys } from './annotations.ts';
import { classicName } from './names.ts';
import type { LoadBalancer } from './octavia-answer.ts';
import { octaviaKinds } from './resources.ts';
import { isMarked } from './tags.ts';

/** The key of what the classic controller made for this Service. Pure. */
export function adoptedKey(found: Found, input: AdoptionInput, config: LoadBalancerConfig): string | undefined {
  if (found.kind === networkKinds.floatingIp && !isWithIt(found.body as FloatingIp, input, config)) return undefined;
  if (found.kind !== octaviaKinds.loadBalancer) return adoptedNetworkKey(found, input);
  if (!isAdoptable(found.body as LoadBalancer, input, config)) return undefined;
  const twins = input
    .found(octaviaKinds.loadBalancer)
    .filter(({ body }) => isAdoptable(body as LoadBalancer, input, config));
  // Of several that agree none, unless one is recorded.
  return twins.length === 1 || input.id === found.id ? 'main' : undefined;
}

/** Whether a floating IP is on the load balancer that is taken over, or that is gone by now. */
function isWithIt({ portId }: FloatingIp, input: AdoptionInput, config: LoadBalancerConfig): boolean {
  const { name, service, owner, proof, found } = input;
  const balancers = found(octaviaKinds.loadBalancer) as readonly Found<LoadBalancer>[];
  const names = [name, classicName({ service, clusterName: proof.clusterName })];
  if (portId === undefined) return !balancers.some((one) => one.owner === undefined && names.includes(one.body.name));
  const carrier = balancers.find(({ body }) => body.vipPortId === portId);
  return carrier !== undefined && (isOwnedBy(carrier, owner) || adoptedKey(carrier, input, config) !== undefined);
}

/** It has the name and tag of that controller for this Service, the address that the Service shows, and no marks. */
function isAdoptable(
  one: LoadBalancer,
  { id, name, service, proof, found }: AdoptionInput,
  config: LoadBalancerConfig,
): boolean {
  const { clusterName, addresses, annotations = {} } = proof;
  if (addresses.length === 0) return false;
  const names = [classicName({ service, clusterName }), name];
  if (!names.includes(one.name) || !one.tags.includes(one.name) || isMarked(one.tags)) return false;
  const address = floatingAddressAt(one.vipPortId, found(networkKinds.floatingIp)) ?? one.vipAddress;
  const { ingressHostnameSuffix: suffix } = config;
  if (addresses.includes(address) || (suffix !== undefined && addresses.includes(`${address}.${suffix}`))) return true;
  // A user chooses that hostname, and the Service of another cluster may have the same name: there must be one alone.
  if (id !== undefined && id !== one.id) return false;
  const namesakes = found(octaviaKinds.loadBalancer).filter(({ body }) => names.includes((body as LoadBalancer).name));
  return addresses.length === 1 && addresses[0] === annotations[keys.hostname] && namesakes.length === 1;
}
