import type { Clock } from '../../../../common/process/clock.ts';
import type { Found, Kind } from '../../../engine/resource.ts';
import { shownAddresses } from '../../adoption.ts';
import { canonical } from '../../ip-address.ts';
import type { AdoptionInput, DesireInput, LoadBalancerDriver, ShownLoadBalancer } from '../../load-balancer-driver.ts';
import { annotations, portPrefix, prefix } from '../annotations.ts';
import type { ArmClient } from '../client.ts';
import { type BalancerPlace, resourceName } from '../config.ts';
import { createAddressBook } from './address-book.ts';
import { type ArmDocuments, createArmDocuments } from './arm-documents.ts';
import { type Balancer, kindNames, type PublicAddress, shownAddress } from './balancer.ts';
import { balancerDocument } from './balancer-document.ts';
import { balancerKind } from './balancer-kind.ts';
import { desireOf } from './desire.ts';
import { createMemberships } from './memberships.ts';
import { baseName, classicTags, isOfBase, tagOf } from './names.ts';
import { poolDocument } from './pool-document.ts';
import { poolKind, unusedPoolKind } from './pool-kind.ts';
import { createPublicAddresses } from './public-addresses.ts';
import { type RuleShare, securityGroupDocument, shareKind } from './security-group.ts';

/**
 * One load balancer for all Services with public addresses and one for all with internal ones, named as the classic
 * controller names them, and the security group of the nodes. Makes no call.
 */
export function createLoadBalancerDriver(client: ArmClient, place: BalancerPlace, clock: Clock): LoadBalancerDriver {
  const book = createAddressBook(() => clock.now());
  const balancers = sharedLists(createArmDocuments(client, { ...place, type: 'loadBalancers' }));
  const memberships = createMemberships(client);
  const named = new Set<string>();
  const addresses = createPublicAddresses({ client, place, book, named });
  const { securityGroup } = place;
  const kinds = [addresses.kind, balancerKind, poolKind(book), unusedPoolKind, ...(securityGroup ? [shareKind] : [])];

  return {
    main: kindNames.balancer,
    kinds: kinds as readonly unknown[] as readonly Kind[],
    readers: [addresses.reader],
    documents: [
      // Rules are of who has their addresses, so load balancers come first.
      balancerDocument({ balancers, place, book }),
      poolDocument({ balancers, memberships, place, book }),
      ...(securityGroup ? [securityGroupDocument(client, place, securityGroup, book)] : []),
    ],
    desire(input: DesireInput) {
      book.noteMembers(input.desired.members);
      const group = input.desired.annotations[`${prefix}load-balancer-resource-group`];
      if (group !== undefined && resourceName.test(group)) named.add(group.toLowerCase());
      return desireOf(input, { place, book, idOf: addresses.idOf });
    },
    /** Writes wait for the end of their operations. */
    poll: async () => new Map(),
    annotations,
    annotationPrefixes: [prefix, portPrefix],
    show,
    maxMembers: undefined,
    drains: false,
    adopts(found, input) {
      const key = adopts(found, input);
      if (key !== undefined) book.noteAdopting(input.owner.service);
      return key;
    },
    slots: () => [],
    members(parts) {
      const main = parts.find(({ kind }) => kind === kindNames.balancer)?.body as Balancer | undefined;
      const vms = main === undefined ? [] : book.vmsBehind(main.document);
      if (vms.length > 0)
        return vms.map((vm) => ({ providerID: book.providerIDOfVm(vm), draining: false, healthy: undefined }));
      return (main?.members ?? []).flatMap((ip) => {
        const providerID = book.providerIDOf(ip);
        return providerID === undefined ? [] : [{ providerID, draining: false, healthy: undefined }];
      });
    },
  };

  function show(main: Found, parts: readonly Found[], foundOf: DesireInput['found']): ShownLoadBalancer {
    const all = foundOf(kindNames.address) as readonly Found<PublicAddress>[];
    const isAddress = main.kind === kindNames.address;
    const own = isAddress ? undefined : (main as Found<Balancer>);
    const sides = parts.filter(({ kind }) => kind === kindNames.balancer) as Found<Balancer>[];
    const others = sides.filter(({ id, key }) => id !== main.id && key !== main.key);
    const frontends = own === undefined ? [] : [own, ...others];
    const ips = frontends.flatMap((one) => shownAddress(one, all) ?? []);
    const address = isAddress
      ? (main.body as PublicAddress)
      : all.find(({ id }) => id === own?.body.publicAddress)?.body;
    return {
      name: own?.body.name ?? address?.name ?? '',
      ingress: ips.map((ip) => ({ ip: canonical(ip) })),
      service: address && tagOf(address.tags, classicTags.service),
    };
  }
}

/** Readers that begin at the same time share a list. */
function sharedLists(documents: ArmDocuments): ArmDocuments {
  let listing: ReturnType<ArmDocuments['all']> | undefined;
  return {
    ...documents,
    all(io) {
      listing ??= documents.all(io);
      const own = listing;
      // What begins later reads again.
      queueMicrotask(() => {
        if (listing === own) listing = undefined;
      });
      return own;
    },
  };
}

/** By names and tags of the classic controller, together with an address that the Service shows. */
function adopts(found: Found, input: AdoptionInput): string | undefined {
  const { proof, service } = input;
  const shown = shownAddresses(proof);
  switch (found.kind) {
    case kindNames.balancer:
      return isClassic(found as Found<Balancer>) ? found.key : undefined;
    case kindNames.address: {
      const { tags } = found.body as PublicAddress;
      const isMade =
        tagOf(tags, classicTags.service) === service && tagOf(tags, classicTags.cluster) === proof.clusterName;
      return isMade && shown.has(found.address) ? found.key : undefined;
    }
    default:
      return shown.has((found.body as RuleShare).ip) ? found.key : undefined;
  }

  function isClassic(one: Found<Balancer>): boolean {
    const ip = shownAddress(one, input.found(kindNames.address));
    return isOfBase(one.body.name, baseName(input.owner.service)) && shown.has(ip);
  }
}
