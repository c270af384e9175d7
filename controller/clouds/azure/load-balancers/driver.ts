import { type Found, identityOf, type Kind } from '../../../engine/resource.ts';
import { canonical } from '../../ip-address.ts';
import type { AdoptionInput, DesireInput, LoadBalancerDriver, ShownLoadBalancer } from '../../load-balancer-driver.ts';
import { annotations, portPrefix, prefix } from '../annotations.ts';
import type { ArmClient } from '../client.ts';
import { type BalancerPlace, resourceName } from '../config.ts';
import { createAddressBook } from './address-book.ts';
import { type Balancer, kindNames, type PublicAddress } from './balancer.ts';
import { balancerDocument } from './balancer-document.ts';
import { desireOf } from './desire.ts';
import { balancerKind } from './kinds.ts';
import { baseName, classicTags, isOfBase } from './names.ts';
import { createPublicAddresses } from './public-addresses.ts';
import { type RuleShare, securityGroupDocument, shareKind } from './security-group.ts';

/**
 * One load balancer for all Services with public addresses and one for all with internal ones, named as the classic
 * controller names them, and the security group of the nodes. Makes no call.
 */
export function createLoadBalancerDriver(client: ArmClient, place: BalancerPlace): LoadBalancerDriver {
  const book = createAddressBook();
  const groups = new Set<string>();
  const addresses = createPublicAddresses({ client, place, book, groups });
  const { securityGroup } = place;
  const kinds = [addresses.kind, balancerKind, ...(securityGroup ? [shareKind] : [])];

  return {
    main: kindNames.balancer,
    kinds: kinds as readonly unknown[] as readonly Kind[],
    readers: [addresses.reader],
    documents: [
      // Rules are of who has their addresses, so load balancers come first.
      balancerDocument({ client, place, book }),
      ...(securityGroup ? [securityGroupDocument(client, place, securityGroup, book)] : []),
    ],
    desire(input: DesireInput) {
      book.noteMembers(input.desired.members);
      const group = input.desired.annotations[`${prefix}load-balancer-resource-group`];
      if (group !== undefined && resourceName.test(group)) groups.add(group.toLowerCase());
      return desireOf(input, { place, book, idOf: addresses.idOf });
    },
    /** Writes wait for the end of their operations. */
    poll: async () => new Map(),
    ...{ annotations, annotationPrefixes: [prefix, portPrefix], adopts, show, maxMembers: undefined, drains: false },
    slots: () => [],
    members(parts) {
      const main = parts.find(({ kind }) => kind === kindNames.balancer)?.body as Balancer | undefined;
      return (main?.members ?? []).flatMap((ip) => {
        const providerID = book.providerIDOf(ip);
        return providerID === undefined ? [] : [{ providerID, draining: false, healthy: undefined }];
      });
    },
  };

  function show({ body, kind }: Found, _parts: readonly Found[], foundOf: DesireInput['found']): ShownLoadBalancer {
    const all = foundOf(kindNames.address) as readonly Found<PublicAddress>[];
    const isAddress = kind === kindNames.address;
    const own = isAddress ? undefined : (body as Balancer);
    const found = all.find(({ id }) => id === own?.publicAddress);
    const ip = own?.privateAddress ?? found?.address;
    const address = isAddress ? (body as PublicAddress) : found?.body;
    return {
      name: own?.name ?? address?.name ?? '',
      ingress: ip === undefined ? [] : [{ ip: canonical(ip) }],
      service: address?.tags[classicTags.service],
    };
  }
}

/** By names and tags of the classic controller, together with an address that the Service shows. */
function adopts(found: Found, input: AdoptionInput): string | undefined {
  const { proof, service } = input;
  const shown = new Set(proof.addresses.map(canonical));
  switch (found.kind) {
    case kindNames.balancer:
      return isClassic(found as Found<Balancer>) ? 'main' : undefined;
    case kindNames.address: {
      const { tags } = found.body as PublicAddress;
      const isMade = tags[classicTags.service] === service && tags[classicTags.cluster] === proof.clusterName;
      const { address = '' } = found;
      // A dual-stack Service has two of them, and IPv4 alone is served.
      return isMade && shown.has(address) && !address.includes(':') ? 'main' : undefined;
    }
    default:
      return shown.has((found.body as RuleShare).ip) ? found.key : undefined;
  }

  function isClassic({ body, address }: Found<Balancer>): boolean {
    const all = input.found(kindNames.address);
    const id = body.publicAddress && identityOf({ kind: kindNames.address, id: body.publicAddress });
    const ip = address ?? all.find((one) => identityOf(one) === id)?.address;
    return isOfBase(body.name, baseName(input.owner.service)) && ip !== undefined && shown.has(ip);
  }
}
