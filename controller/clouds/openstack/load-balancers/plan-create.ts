import { ownerTags } from '../../load-balancers.ts';
import { keys } from './annotations.ts';
import type { LoadBalancer } from './answer.ts';
import { classicName, classicPrefix, loadBalancerDescription } from './names.ts';
import type { Pieces } from './observed.ts';
import { namedRefusal, wantsVip } from './plan-floating-ip.ts';
import { nothing, type OctaviaPlan } from './plan-wait.ts';
import { type NewLoadBalancer, stepOf } from './step.ts';
import { octaviaTags, tag, tagValue, without } from './tags.ts';
import { checkOf, loadBalancerTags, newListener, newMembers, newMonitor, newPool, type Wanted } from './wanted.ts';

/** One request for everything but what Neutron makes. Nothing while a setting is not understood or the address cannot be had. */
export function planCreate(wanted: Wanted, pieces: Pieces | undefined): OctaviaPlan {
  const { desired, settings, config, features, subject } = wanted;
  // What is not understood is told already; something else than what was meant is not made.
  if (settings.refusals.length > 0 || settings.placement === undefined) return nothing;
  const refusal = namedRefusal(wanted, pieces);
  if (refusal) return { ...nothing, refusals: [refusal] };
  const { networkId, subnetId } = settings.placement;
  const near = desired.members
    .flatMap(({ providerID, addresses }) =>
      addresses.map((address) => ({ server: wanted.serverIdOf(providerID) ?? '', address })),
    )
    .filter(({ server, address }) => server !== '' && address.includes(':') === (settings.family === 'IPv6'))
    .slice(0, 5);
  if (!networkId && !subnetId && !settings.portId && near.length === 0) {
    const message = `no subnet for the VIP: ${keys.subnetId} and subnet-id of the cloud config are not set, and there is no member in whose subnet it could be`;
    return { ...nothing, refusals: [{ reason: 'Unsupported', message }] };
  }
  const name = classicName(desired);
  const ports = desired.ports.filter(({ protocol }) => protocol !== 'SCTP' || features.sctp);
  const body: NewLoadBalancer = {
    name,
    description: loadBalancerDescription(desired),
    provider: config.provider,
    flavorId: settings.flavorId || (features.flavor ? config.flavorId : undefined),
    availabilityZone: settings.availabilityZone || (features.availabilityZone ? config.availabilityZone : undefined),
    vipAddress: wantsVip(wanted) ? desired.address : undefined,
    vipPortId: settings.portId || undefined,
    placement: { ...(networkId && { networkId }), ...(subnetId && { subnetId }) },
    near,
    tags: tagsFor(wanted, undefined, undefined),
    ports: config.serialCalls
      ? []
      : ports.map((port) => ({
          listener: newListener(wanted, port, name),
          pool: newPool(wanted, port, name),
          members: newMembers(wanted, port, checkOf(wanted, port, undefined, name).monitorPort, undefined),
          monitor: newMonitor(wanted, port, name),
        })),
  };
  const shown = desired.ports.map(({ protocol, port }) => `${protocol} ${port}`).join(', ');
  const summary = `create ${wantsVip(wanted) ? 'internal ' : ''}load balancer ${name} for ${desired.service}: ${shown}; ${desired.members.length} members`;
  const create = stepOf(subject, name, summary, { does: 'create load balancer', body });
  return { ...nothing, steps: [create] };
}

/** Its tags as they are to be; those that we do not know stay. */
export function tagsFor(
  { desired, settings }: Wanted,
  there: LoadBalancer | undefined,
  vip: boolean | undefined,
): string[] {
  const address = vip ?? (there !== undefined && tagValue(there.tags, octaviaTags.address) === 'vip');
  const hostname = settings.hostname ?? tagValue(there?.tags ?? [], octaviaTags.hostname);
  const ours = [ownerTags.cluster, ownerTags.service, ownerTags.serviceName, ...Object.values(octaviaTags)];
  return [
    ...new Set([
      ...without(there?.tags ?? [], ours),
      ...loadBalancerTags(desired).filter(
        (one) =>
          there === undefined ||
          !one.startsWith(classicPrefix) ||
          !there.tags.some((known) => known.startsWith(classicPrefix)),
      ),
      ...(address ? [tag(octaviaTags.address, 'vip')] : []),
      ...(hostname ? [tag(octaviaTags.hostname, hostname)] : []),
    ]),
  ];
}
