import type { PublicIPAddress, PublicIPAddressPropertiesFormat } from '@azure/arm-network';
import { CloudError, type CloudErrorKind, isCloudError } from '../../../../common/cloud-error.ts';
import type { Answer, Comparison, Found, Kind, Owner, Reader, WriteIo } from '../../../engine/resource.ts';
import { canonical } from '../../ip-address.ts';
import type { IpFamily } from '../../load-balancers.ts';
import type { Sent } from '../../sent.ts';
import type { ArmClient } from '../client.ts';
import { type BalancerPlace, resourceName } from '../config.ts';
import { cloud } from '../fault.ts';
import type { AddressBook } from './address-book.ts';
import { type ArmDocuments, createArmDocuments } from './arm-documents.ts';
import { kindNames, type PublicAddress, tagsIn } from './balancer.ts';
import { idIn, isFailed, type Json, objectIn, textIn } from './json.ts';
import { addressSide, classicTags, type Tags, tagOf, tags, withTags } from './names.ts';

export interface PublicAddressSpec {
  readonly name: string;
  readonly resourceGroup: string;
  readonly family: IpFamily;
  readonly tags: Tags;
  /** DNS label; empty: none; undefined: as it is. */
  readonly label: string | undefined;
  readonly properties: Sent<Pick<PublicIPAddressPropertiesFormat, 'ipTags' | 'publicIPPrefix'>>;
}

export interface PublicAddressOptions {
  readonly client: ArmClient;
  readonly place: BalancerPlace;
  readonly book: AddressBook;
  /** Resource groups that Services have named since the last audit, in lower case. */
  readonly named: Set<string>;
}

export interface PublicAddresses {
  readonly kind: Kind<PublicAddressSpec, PublicAddress>;
  readonly reader: Reader;
  idOf(resourceGroup: string, name: string): string;
}

export function createPublicAddresses({ client, place, book, named }: PublicAddressOptions): PublicAddresses {
  const { subscription, location } = place;
  const documentsIn = (resourceGroup: string): ArmDocuments =>
    createArmDocuments(client, { subscription, resourceGroup, type: 'publicIPAddresses' });

  const groupsOf = (ids: readonly string[]) => new Set(ids.flatMap((id) => placeOf(id)?.group ?? []));
  /** Resource groups that the last audit has read. */
  let audited: ReadonlySet<string> = new Set();

  /** Those of the configured resource groups and of these; throws where a needed one cannot be read. */
  async function listed(
    { needed, others }: Record<'needed' | 'others', ReadonlySet<string>>,
    signal: AbortSignal | undefined,
  ) {
    const began = book.version('public');
    const all = new Set([place.resourceGroup, place.addressGroup, ...needed, ...others]);
    const groups = new Set<string>();
    const isNeeded = (group: string) =>
      group === place.resourceGroup ||
      needed.has(group) ||
      // The role may not reach that of new addresses while none is there.
      (group === place.addressGroup && groupsOf(book.publicIds()).has(group));
    const lists = await Promise.all(
      [...all].map(async (group) => {
        try {
          const list = await documentsIn(group).all({ signal });
          groups.add(group);
          return list;
        } catch (error) {
          // Any Service can name a resource group, whose owner can take the role from it: it must not stop the others.
          if (isNeeded(group) || !isCloudError(error) || signal?.aborted) throw error;
          return [];
        }
      }),
    );
    const found = lists.flat().map(({ doc, version }) => foundAddress(doc, version));
    book.notePublic(found, { began, groups });
    return { found, groups };
  }

  async function written(name: string, group: string, body: Json, etag: string | undefined, io: WriteIo) {
    const { doc, version } = await documentsIn(group).write(name, body, etag, io.permit);
    const found = foundAddress(doc, version);
    book.notePublic([found]);
    return { id: found.id, found: [found] } satisfies Answer;
  }
  const rewritten = ({ body }: Found<PublicAddress>, next: Tags, properties: Json, io: WriteIo) =>
    written(body.name, body.resourceGroup, { ...body.wire, tags: next, properties }, body.etag, io);

  const kind: Kind<PublicAddressSpec, PublicAddress> = {
    kind: kindNames.address,
    retryCreate: 'atOnce',
    compare({ body }, { tags: desired, label }): Comparison {
      const texts = Object.entries(desired).flatMap(([name, value]) => {
        // Marks come with the first change that is needed anyway.
        const isMark = name === tags.cluster || name === tags.service;
        return isMark || tagOf(body.tags, name) === value ? [] : `tag ${name}`;
      });
      if (label !== undefined && (body.label ?? '') !== label) texts.push(`DNS label ${JSON.stringify(label)}`);
      if (isFailed(body.wire)) texts.push('what the last write has left');
      if (texts.length === 0) return { same: true };
      return {
        changes: [{ what: 'address', summary: texts.join(', '), phase: 'set', body: { tags: desired, label } }],
      };
    },
    create({ spec }, _, io) {
      const { name, resourceGroup, label, family } = spec;
      const properties: Sent<PublicIPAddressPropertiesFormat> = {
        publicIPAllocationMethod: 'Static',
        publicIPAddressVersion: family,
        ...spec.properties,
        ...withLabel(label),
      };
      const own: Sent<PublicIPAddress> = {
        location,
        sku: { name: 'Standard' },
        tags: withTags(place.tags, { ...spec.tags, ...marksOf(io.owner) }),
      };
      return written(name, resourceGroup, { ...own, properties }, undefined, io);
    },
    update(found, { body }, io) {
      const { tags: desired, label } = body as Pick<PublicAddressSpec, 'tags' | 'label'>;
      const standing = objectIn(found.body.wire, 'properties');
      const properties = label === undefined ? standing : { ...standing, ...withLabel(label) };
      return rewritten(found, withTags(found.body.tags, { ...desired, ...marksOf(io.owner) }), properties, io);
    },
    // Its etag changes with the load balancer's write.
    readsBeforeRemove: true,
    async remove(found, { permit }) {
      const documents = documentsIn(found.body.resourceGroup);
      const now = await documents.read(found.body.name, {});
      const owner = now && foundAddress(now.doc, now.version).owner;
      if (now !== undefined && owner?.service !== found.owner?.service)
        throw failure('Stale', `${found.body.name} has become another's`);
      if (now !== undefined) await documents.remove(found.body.name, now.version, permit);
      book.forgetPublic(found.id);
      return {};
    },
    mark(found, as, _, io) {
      const service = tagOf(found.body.tags, classicTags.service) ?? '';
      const none = { [classicTags.service]: undefined, [tags.cluster]: undefined, [tags.service]: undefined };
      const kept = { ...none, [tags.retained]: `${io.owner.cluster}/${service}` };
      const next = as === 'ours' ? marksOf(io.owner) : kept;
      return rewritten(found, withTags(found.body.tags, next), objectIn(found.body.wire, 'properties'), io);
    },
  };

  return {
    kind,
    reader: {
      kinds: [kindNames.address],
      async all(_, { signal }) {
        const others = new Set([...groupsOf(book.publicIds()), ...named]);
        named.clear();
        const { found, groups } = await listed({ needed: new Set(), others }, signal);
        audited = groups;
        return found;
      },
      isUnknown: ({ kind, id }) => kind === kindNames.address && !audited.has(placeOf(id)?.group ?? ''),
      async of({ owner, ids, slots, search }, { signal }) {
        const desired = slots.map((slot) => slot.replace(addressSlot(''), ''));
        const needed = groupsOf([...desired, ...book.publicIds(owner.service)]);
        const all = search ? (await listed({ needed, others: new Set() }, signal)).found : [];
        const asked = ids.filter((one) => one.kind === kindNames.address && !all.some(({ id }) => id === one.id));
        const own = asked.flatMap(({ id }) => placeOf(id) ?? []);
        const read = await Promise.all(
          own.map(async ({ group, name }) => {
            const one = await documentsIn(group).read(name, { signal });
            return one === undefined ? [] : [foundAddress(one.doc, one.version)];
          }),
        );
        const found = read.flat();
        book.notePublic(found);
        return { found: [...all, ...found] };
      },
    },
    idOf: (group, name) => documentsIn(group).idOf(name).toLowerCase(),
  };

  /** Of this subscription alone: a record that users can write may name anything. */
  function placeOf(id: string): { readonly group: string; readonly name: string } | undefined {
    const [, , of, , group = '', , , , name = '', ...more] = id.toLowerCase().split('/');
    const isAddress = /\/providers\/microsoft\.network\/publicipaddresses\/[^/]+$/i.test(id) && more.length === 0;
    if (!isAddress || of !== subscription || ![group, name].every((one) => resourceName.test(one))) return undefined;
    return { group, name };
  }
}

export const addressSlot = (id: string) => `public address ${id}`;

function failure(kind: CloudErrorKind, message: string): CloudError {
  return new CloudError({ kind, cloud, operation: 'DELETE publicIPAddresses/{name}', message });
}

function marksOf({ cluster, service }: Owner): Tags {
  return { [tags.cluster]: cluster, [tags.service]: service };
}

/** Empty: none. */
function withLabel(label: string | undefined): Sent<Pick<PublicIPAddressPropertiesFormat, 'dnsSettings'>> {
  return { dnsSettings: label ? { domainNameLabel: label } : undefined };
}

function foundAddress(wire: Json, etag: string): Found<PublicAddress> {
  const id = textIn(wire, 'id')!.toLowerCase();
  const properties = objectIn(wire, 'properties');
  const given = tagsIn(wire);
  const [cluster, service] = [tagOf(given, tags.cluster), tagOf(given, tags.service)];
  const ip = textIn(properties, 'ipAddress');
  const owner = cluster !== undefined && service !== undefined ? { cluster, service } : undefined;
  return {
    kind: kindNames.address,
    id,
    version: etag,
    status: 'ready',
    slots: [addressSlot(id)],
    ...(owner === undefined ? {} : { owner }),
    key: addressSide(textIn(wire, 'name') ?? '', textIn(objectIn(properties, 'publicIPPrefix'), 'id')),
    ...(ip === undefined ? {} : { address: canonical(ip) }),
    ...(tagOf(given, tags.retained) === undefined ? {} : { retained: true }),
    ...(tagOf(given, tags.consent) === undefined ? {} : { consentForAnyCluster: true }),
    body: {
      name: textIn(wire, 'name') ?? '',
      resourceGroup: id.split('/')[4] ?? '',
      tags: given,
      etag,
      wire,
      label: textIn(objectIn(properties, 'dnsSettings'), 'domainNameLabel'),
      usedBy: idIn(properties, 'ipConfiguration'),
    },
  };
}
