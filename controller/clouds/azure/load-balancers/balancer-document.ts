import { CloudError } from '../../../../common/cloud-error.ts';
import type { DocumentType, Edit } from '../../../engine/driver.ts';
import type { Found } from '../../../engine/resource.ts';
import { type ArmClient, versions } from '../client.ts';
import type { BalancerPlace } from '../config.ts';
import { cloud } from '../fault.ts';
import type { AddressBook } from './address-book.ts';
import { createArmDocuments } from './arm-documents.ts';
import {
  type Balancer,
  type BalancerSpec,
  kindNames,
  lists,
  type PoolSpec,
  parseBalancer,
  partsOfInterfaces,
  poolAddresses,
  tagsIn,
  wireOf,
} from './balancer.ts';
import { idIn, isFailed, type Json, listIn, objectIn, type Part, partsIn, replaced, sameName, textIn } from './json.ts';
import { baseName, codeOf, codesIn, isOfBase, tags, withCodes } from './names.ts';

export interface BalancerDocumentOptions {
  readonly client: ArmClient;
  readonly place: BalancerPlace;
  readonly book: AddressBook;
}

/** Load balancers, each with the parts of many Services, of others and of the cloud: one document with an etag. */
export function balancerDocument({ client, place, book }: BalancerDocumentOptions): DocumentType<Json> {
  const documents = createArmDocuments(client, { ...place, type: 'loadBalancers', version: versions.network });
  /** Every owner is of the same cluster. */
  let known = '';

  function parse(name: string, json: Json, cluster: string): readonly Found<Balancer>[] {
    known = cluster;
    const found = parseBalancer(name, json, cluster, book.publicOwnerOf);
    book.noteFrontends(name, found);
    return found;
  }

  return {
    document: kindNames.balancer,
    name: (part) =>
      ('want' in part ? (part.want.spec as { document: string }) : (part.found.body as Balancer)).document,
    all(cluster, io) {
      known = cluster;
      // The engine parses what is not older than a write.
      return documents.all(io);
    },
    async read(name, io) {
      const read = await documents.read(name, io);
      if (read === undefined) book.noteFrontends(name, []);
      else parse(name, read.doc, known);
      return read;
    },
    parse,
    basis: () => book.version('public'),
    fold: (json, edits) => fold(json, edits, place, documents.idOf),
    async write(name, json, version, permit) {
      if (version === undefined && (await documents.read(name, {})) !== undefined) {
        // Azure does not say that it obeys If-None-Match, and a list may be late: this would overwrite all of it.
        const message = `${name} exists, and no list has shown it`;
        throw new CloudError({ kind: 'Stale', cloud, operation: 'PUT loadBalancers/{name}', message });
      }
      const written = await documents.write(name, json, version, permit);
      // Rules of security groups need the addresses of new frontends.
      parse(name, written.doc, known);
      return written;
    },
    async remove(name, version, permit) {
      await documents.remove(name, version, permit);
      book.noteFrontends(name, []);
      return {};
    },
  };
}

type Lists = Record<(typeof lists)[keyof typeof lists], readonly Part[]>;

function fold(
  json: Json | undefined,
  edits: readonly Edit[],
  { location }: BalancerPlace,
  idOf: (name: string) => string,
): Json | undefined {
  const cluster = edits[0]?.owner.cluster ?? '';
  const before: Json = json ?? { location, sku: { name: 'Standard' }, tags: { [tags.cluster]: cluster } };
  const next = Object.fromEntries(Object.values(lists).map((list) => [list, partsIn(before, list)])) as Lists;
  const codes = new Set(codesIn(tagsIn(before)));

  for (const edit of edits) {
    const { owner } = edit;
    if ('put' in edit) {
      const spec = edit.put.spec as BalancerSpec;
      codes.add(codeOf(owner));
      const { publicAddress } = spec.frontend;
      const id = textIn(before, 'id') ?? idOf(spec.document);
      const wire = wireOf(spec, id, publicAddress && edit.idOf(publicAddress));
      replaceOwn(next, baseName(owner.service), [wire.frontend], wire);
      next[lists.pools] = withPool(next[lists.pools], spec.pool);
    } else {
      codes.delete(codeOf(owner));
      replaceOwn(next, baseName(owner.service), [], { rules: [], probes: [] });
    }
  }

  const properties = objectIn(before, 'properties');
  const poolsOf = (rules: readonly Part[]) => new Set(rules.map((rule) => idIn(rule.properties, 'backendAddressPool')));
  const [had, has] = [poolsOf(partsIn(before, lists.rules)), poolsOf(next[lists.rules])];
  next[lists.pools] = next[lists.pools].filter((pool) => {
    const id = `${textIn(before, 'id')}/${lists.pools}/${pool.name}`.toLowerCase();
    // It goes with the last rule.
    return (
      !had.has(id) || has.has(id) || partsOfInterfaces(pool) || listIn(pool.properties, 'outboundRules').length > 0
    );
  });
  const others = ['outboundRules', 'inboundNatRules', 'inboundNatPools'].flatMap((list) => listIn(properties, list));
  const isEmpty = [next[lists.frontends], next[lists.rules], others].every((list) => list.length === 0);
  // One that others made stays, although nothing is in it.
  if (isEmpty && tagsIn(before)[tags.cluster] === cluster) return undefined;
  const { provisioningState, ...rest } = properties;
  const present = Object.entries(next).filter(([list, parts]) => parts.length > 0 || properties[list] !== undefined);
  return {
    ...before,
    ...(json === undefined || codes.size > 0 || 'tags' in before ? { tags: withCodes(tagsIn(before), codes) } : {}),
    properties: { ...(isFailed(before) ? rest : properties), ...Object.fromEntries(present) },
  };
}

/** Frontends, rules and probes of one Service; a frontend that others use stays. */
function replaceOwn(
  next: Lists,
  base: string,
  frontends: readonly Part[],
  wire: Pick<ReturnType<typeof wireOf>, 'rules' | 'probes'>,
): void {
  const isOwn = (part: Part) => isOfBase(part.name, base);
  next[lists.rules] = replaced(next[lists.rules], wire.rules, isOwn);
  next[lists.probes] = replaced(next[lists.probes], wire.probes, isOwn);
  const users = next[lists.rules]
    .filter((rule) => !isOwn(rule))
    .map((rule) => idIn(rule.properties, 'frontendIPConfiguration'));
  const isFree = ({ name, properties }: Part) =>
    !users.some((id) => id?.endsWith(`/${name}`.toLowerCase())) &&
    ['outboundRules', 'inboundNatRules', 'inboundNatPools'].every((list) => listIn(properties, list).length === 0);
  const desired = frontends.map((one) => {
    const there = next[lists.frontends].find((other) => sameName(one, other));
    // Zones can never change, and people chain a gateway load balancer to a frontend.
    return there === undefined ? one : { ...there, properties: { ...there.properties, ...one.properties } };
  });
  next[lists.frontends] = replaced(next[lists.frontends], desired, (part) => isOwn(part) && isFree(part));
}

function withPool(pools: readonly Part[], { name, virtualNetwork, members }: PoolSpec): readonly Part[] {
  const there = pools.find((pool) => pool.name.toLowerCase() === name.toLowerCase());
  if (there !== undefined && partsOfInterfaces(there)) return pools;
  const isSame = there && members.length === poolAddresses(there).length;
  if (isSame && members.every(({ address }) => poolAddresses(there).includes(address))) return pools;
  const standing = there === undefined ? [] : partsIn({ properties: there.properties }, 'loadBalancerBackendAddresses');
  const nodes = new Set(members.map(({ node }) => node));
  const addresses = members.map(({ node, address }): Part => {
    const there = standing.find(({ properties }) => properties['ipAddress'] === address);
    // Names are unique: one that was made for another node may be needed for that node's new address.
    const isKept = there !== undefined && (there.name === node || !nodes.has(there.name));
    return isKept ? there : { name: node, properties: { ipAddress: address } };
  });
  const properties = {
    ...there?.properties,
    virtualNetwork: there?.properties['virtualNetwork'] ?? { id: virtualNetwork },
    loadBalancerBackendAddresses: addresses,
  };
  const next: Part = { ...there, name: there?.name ?? name, properties };
  return there === undefined ? [...pools, next] : pools.map((pool) => (pool === there ? next : pool));
}
