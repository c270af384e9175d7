import { type Found, identityOf, type Refusal } from '../../../engine/resource.ts';
import { claimantOf, consentFor } from '../../consent.ts';
import type { DesireInput } from '../../load-balancer-driver.ts';
import type { DesiredLoadBalancer, IpFamily } from '../../load-balancers.ts';
import { prefix } from '../annotations.ts';
import type { BalancerPlace } from '../config.ts';
import { type Balancer, kindNames, type PublicAddress } from './balancer.ts';
import { tagOf, tags } from './names.ts';
import type { Settings } from './settings.ts';

/** Where the address of a Service comes from. */
export type Placement =
  /** A public address that is made for it. */
  | { readonly from: 'own' }
  /** One that exists. */
  | { readonly from: 'existing'; readonly id: string; readonly shown: string }
  /** A subnet. Without `ip` any address of it is good. */
  | { readonly from: 'subnet'; readonly subnet: string; readonly ip: string | undefined };

export interface PlacementInput {
  readonly input: DesireInput;
  readonly settings: Settings;
  readonly family: IpFamily;
  readonly place: BalancerPlace;
  /** What serves it now. */
  readonly standing: Found<Balancer> | undefined;
  idOf(resourceGroup: string, name: string): string;
}

/** Where the address comes from, or why it cannot come from there. Pure. */
export function placementOf(parts: PlacementInput): Placement | Refusal {
  const { input, settings, family, place, standing } = parts;
  if (standing !== undefined && !input.desired.families.includes(family))
    return { reason: 'AddressWouldChange', message: `${standing.body.name}: its ${family} address would be deleted` };
  const desired = desiredPlacement(parts);
  if (!('from' in desired) || standing === undefined || input.desired.mayChangeAddress) return desired;
  const current = currentPlacement(input, standing.body);
  return isSame(current, desired, standing.body) ? desired : wouldChange(current, desired);

  function wouldChange(now: Placement, next: Placement): Refusal {
    const texts = {
      own: 'a public address of its own',
      existing: '',
      subnet: `an address of ${settings.subnet ?? place.subnet}`,
    };
    const shown =
      next.from === 'existing' ? next.shown : next.from === 'subnet' && next.ip ? next.ip : texts[next.from];
    const message = `${standing?.body.name}: its address would change to ${shown}`;
    return { reason: 'AddressWouldChange', message: now.from === next.from ? message : `${message} from ${now.from}` };
  }
}

/** Of what stands: it serves whatever is asked for. */
export function currentPlacement(
  { own }: Pick<DesireInput, 'own'>,
  { subnet, publicAddress, privateAddress }: Balancer,
): Placement {
  if (subnet !== undefined) return { from: 'subnet', subnet, ip: privateAddress };
  const isOwn = own().some((one) => one.kind === kindNames.address && one.id === publicAddress);
  return isOwn ? { from: 'own' } : { from: 'existing', id: publicAddress ?? '', shown: publicAddress ?? '' };
}

function isSame(current: Placement, desired: Placement, { privateAddress }: Balancer): boolean {
  if (desired.from === 'subnet' && current.from === 'subnet')
    return desired.subnet.toLowerCase() === current.subnet && (desired.ip ?? privateAddress) === privateAddress;
  if (desired.from === 'existing' && current.from === 'existing') return desired.id === current.id;
  return desired.from === current.from;
}

function desiredPlacement(parts: PlacementInput): Placement | Refusal {
  const { input, settings, family, place, standing, idOf } = parts;
  const { isInternal, resourceGroup } = settings;
  const groups = resourceGroup === undefined ? [place.addressGroup, place.resourceGroup] : [resourceGroup];
  const { address, publicName } = settings.sides[family];
  const subnet = settings.subnet ?? place.subnet;
  if (isInternal && subnet === undefined)
    return unsupported(`${prefix}load-balancer-internal: "true", expected subnetName in azure.json`);
  if (isInternal) return { from: 'subnet', subnet: `${place.virtualNetwork}/subnets/${subnet}`, ip: address?.ip };
  if (publicName === undefined && address === undefined) return { from: 'own' };
  const ids = publicName === undefined ? [] : groups.map((group) => idOf(group, publicName.name));
  const all = input.found(kindNames.address) as readonly Found<PublicAddress>[];
  const named = ids.flatMap((id) => all.find((one) => one.id === id) ?? [])[0];
  const found = publicName === undefined ? all.find((one) => one.address === address?.ip) : named;
  const shown = publicName?.name ?? address?.ip ?? '';
  const source = (publicName ?? address)?.source;
  if (found === undefined)
    return unsupported(`${source}: ${JSON.stringify(shown)}, expected a public address of resource group ${groups[0]}`);
  if (input.own().some((one) => identityOf(one) === identityOf(found))) return { from: 'own' };
  const placement = { from: 'existing', id: found.id, shown } as const;
  if (standing?.body.publicAddress === found.id) return placement;
  const denied = denialOf(found.body, input.desired);
  if (denied !== undefined)
    return { reason: 'ForeignLoadBalancer', message: `public address ${shown} gives no consent: ${denied}` };
  if (found.body.usedBy === undefined) return placement;
  return { reason: 'Conflict', message: `public address ${shown} is in use already` };
}

/** What its tags would have to say; undefined where the Service may use it. */
function denialOf(
  address: PublicAddress,
  { owner, service, clusterWideConsent }: DesiredLoadBalancer,
): string | undefined {
  const claimant = claimantOf(owner.cluster, service);
  const former = tagOf(address.tags, tags.retained) ?? '';
  // The UID of the cluster, and the Service that had it.
  if (former.startsWith(`${owner.cluster}/${claimant.namespace}/`)) return undefined;
  const kind = consentFor(tagOf(address.tags, tags.consent), claimant);
  if (kind === 'named' || (kind === 'cluster-wide' && clusterWideConsent)) return undefined;
  return `expected ${owner.cluster}/${claimant.namespace} in its tag ${tags.consent}`;
}

export function unsupported(message: string): Refusal {
  return { reason: 'Unsupported', message };
}
