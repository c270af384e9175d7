import type * as network from '@azure/arm-network';
import { CloudError, isCloudError } from '../../../../common/cloud-error.ts';
import type { DocumentType, Edit } from '../../../engine/driver.ts';
import type { Found } from '../../../engine/resource.ts';
import { canonical } from '../../ip-address.ts';
import type { Sent } from '../../sent.ts';
import type { BalancerPlace } from '../config.ts';
import { cloud } from '../fault.ts';
import type { AddressBook } from './address-book.ts';
import type { ArmDocuments } from './arm-documents.ts';
import {
  type Balancer,
  type BalancerSpec,
  hasOtherRules,
  kindNames,
  lists,
  memberKindOf,
  otherLists,
  type PoolSpec,
  parseBalancer,
  poolAddresses,
  poolId,
  tagsIn,
  wireOf,
} from './balancer.ts';
import { idIn, isFailed, type Json, listIn, objectIn, type Part, partsIn, replaced, sameName, textIn } from './json.ts';
import {
  baseName,
  codeOf,
  codesIn,
  frontendSide,
  holderIn,
  holderText,
  isOfBase,
  poolTag,
  type SideKey,
  sideKeyOf,
  type Tags,
  tags,
  withCodes,
  withTags,
} from './names.ts';
import { isFilledByOthers, poolInfos, unusedPools } from './pool.ts';

export interface BalancerDocumentOptions {
  readonly balancers: ArmDocuments;
  readonly place: BalancerPlace;
  readonly book: AddressBook;
}

/** Load balancers, each with the parts of many Services, of others and of the cloud: one document with an etag. */
export function balancerDocument({ balancers, place, book }: BalancerDocumentOptions): DocumentType<Json> {
  /** Every owner is of the same cluster. */
  let known = '';

  function parse(name: string, json: Json, cluster: string): readonly Found[] {
    known = cluster;
    const found = parseBalancer(name, json, cluster, book.publicOwnerOf);
    book.noteFrontends(name, found, poolInfos(json));
    if (isFilledByOthers(place, name)) return found;
    return [...found, ...unusedPools(name, json, cluster).filter(({ id }) => !book.keptPools.has(id))];
  }

  /** Where Azure refuses to delete a pool, the other changes of that write are made without that. */
  async function keepPools(name: string, json: Json, error: unknown): Promise<never> {
    if (!isCloudError(error) || !error.message.includes('InUseBackendAddressPool')) throw error;
    const { doc = {} } = (await balancers.read(name, {})) ?? {};
    for (const pool of partsIn(doc, lists.pools))
      if (!partsIn(json, lists.pools).some((one) => sameName(one, pool))) book.keptPools.add(poolId(doc, pool));
    throw failure('Stale', error.message);
  }

  return {
    document: kindNames.balancer,
    name: (part) =>
      ('want' in part ? (part.want.spec as { document: string }) : (part.found.body as Balancer)).document,
    all(cluster, io) {
      known = cluster;
      // The engine parses what is not older than a write.
      return balancers.all(io);
    },
    async read(name, io) {
      const read = await balancers.read(name, io);
      if (read === undefined) book.noteFrontends(name, [], []);
      else parse(name, read.doc, known);
      return read;
    },
    parse,
    basis: () => book.version('public'),
    fold: (json, edits) => fold(json, edits, { balancers, place, book }),
    async write(name, json, version, permit) {
      if (version === undefined && (await balancers.read(name, {})) !== undefined) {
        // Azure does not say that it obeys If-None-Match, and a list may be late: this would overwrite all of it.
        const message = `${name} exists, and no list has shown it`;
        throw failure('Stale', message);
      }
      const written = await balancers.write(name, json, version, permit).catch((error) => keepPools(name, json, error));
      // Rules of security groups need the addresses of new frontends.
      parse(name, written.doc, known);
      return written;
    },
    async remove(name, version, permit) {
      await balancers.remove(name, version, permit);
      book.noteFrontends(name, [], []);
      return {};
    },
  };
}

type Lists = Record<(typeof lists)[keyof typeof lists], readonly Part[]>;

function fold(
  json: Json | undefined,
  edits: readonly Edit[],
  { balancers, place, book }: BalancerDocumentOptions,
): Json | undefined {
  const cluster = edits[0]?.owner.cluster ?? '';
  const made: network.LoadBalancer = { location: place.location, sku: { name: 'Standard' } };
  const before: Json = json ?? { ...made, tags: withTags(place.tags, { [tags.cluster]: cluster }) };
  const next = Object.fromEntries(Object.values(lists).map((list) => [list, partsIn(before, list)])) as Lists;
  const codes = new Set(codesIn(tagsIn(before)));
  const holders = new Map<string, string>();
  const unused = new Set<string>();

  for (const edit of edits) {
    const { owner } = edit;
    if ('put' in edit) {
      const spec = edit.put.spec as BalancerSpec;
      codes.add(codeOf(owner));
      const { publicAddress } = spec.frontend;
      const id = textIn(before, 'id') ?? balancers.idOf(spec.document);
      const wire = wireOf(spec, id, publicAddress && edit.idOf(publicAddress));
      replaceOwn(next, baseName(owner.service), edit.put.key as SideKey, [wire.frontend], wire);
      next[lists.pools] = withPool(next[lists.pools], spec.pool);
      const { holder } = holderIn(tagsIn(before), spec.pool.name);
      if (holder !== undefined && holder !== cluster)
        throw failure('Invalid', foreignPool(spec.document, spec.pool, holder));
      const stood = partsIn(before, lists.pools).some((pool) => sameName(pool, spec.pool));
      if (holder === undefined && spec.pool.kind !== 'others') holders.set(spec.pool.name, holderText(cluster, stood));
    } else if (edit.drop.kind === kindNames.unusedPool) unused.add(edit.drop.id);
    else {
      const base = baseName(owner.service);
      replaceOwn(next, base, edit.drop.key as SideKey, [], { rules: [], probes: [] });
      if (!next[lists.frontends].some(({ name }) => isOfBase(name, base))) codes.delete(codeOf(owner));
    }
  }

  const properties = objectIn(before, 'properties');
  const poolsOf = (rules: readonly Part[]) => new Set(rules.map((rule) => idIn(rule.properties, 'backendAddressPool')));
  const [had, has] = [poolsOf(partsIn(before, lists.rules)), poolsOf(next[lists.rules])];
  const isOthers = isFilledByOthers(place, textIn(before, 'name') ?? '');
  // A load balancer does not show the models of scale sets.
  const isFilled = (pool: Part) =>
    book.keptPools.has(poolId(before, pool)) ||
    (book.isFilled(poolId(before, pool)) ?? memberKindOf(pool) === 'interfaces');
  next[lists.pools] = next[lists.pools].filter((pool) => {
    const id = poolId(before, pool);
    // It goes with the last rule, or when the last member has left it.
    const isUsed = isOthers || has.has(id) || isFilled(pool);
    return !(had.has(id) || unused.has(id)) || isUsed || hasOtherRules(pool);
  });
  const others = otherLists.flatMap((list) => listIn(properties, list));
  const filled = next[lists.pools].filter((pool) => isFilled(pool) || (isOthers && memberKindOf(pool) !== undefined));
  const isEmpty = [next[lists.frontends], next[lists.rules], filled, others].every((list) => list.length === 0);
  // One that others made stays, although nothing is in it.
  if (isEmpty && tagsIn(before)[tags.cluster] === cluster) return undefined;
  const { provisioningState, ...rest } = properties;
  /** Those of pools go with their pools. */
  function tagsWith(own: ReadonlySet<string>): Tags {
    const gone = partsIn(before, lists.pools).filter((pool) => !next[lists.pools].some((one) => sameName(one, pool)));
    const former = new Set(gone.map(({ name }) => poolTag(name).toLowerCase()));
    const kept = Object.entries(tagsIn(before)).filter(([name]) => !former.has(name.toLowerCase()));
    const added = [...holders].map(([pool, holder]) => [poolTag(pool), holder]);
    return withCodes(Object.fromEntries([...kept, ...added]), own);
  }
  const present = Object.entries(next).filter(([list, parts]) => parts.length > 0 || properties[list] !== undefined);
  return {
    ...before,
    ...(json === undefined || codes.size > 0 || 'tags' in before ? { tags: tagsWith(codes) } : {}),
    properties: { ...(isFailed(before) ? rest : properties), ...Object.fromEntries(present) },
  };
}

function failure(kind: CloudError['kind'], message: string): CloudError {
  return new CloudError({ kind, cloud, operation: 'PUT loadBalancers/{name}', message });
}

/** @param holder UID of a cluster */
export function foreignPool(document: string, { name }: Pick<PoolSpec, 'name'>, holder: string): string {
  const advice = 'give each cluster its own --cluster-name';
  return `backend pool ${name} of load balancer ${document} has the nodes of cluster ${holder}: ${advice}`;
}

/** Frontend, rules and probes of one address family of a Service; a frontend that others use stays. */
function replaceOwn(
  next: Lists,
  base: string,
  side: SideKey,
  frontends: readonly Part[],
  wire: Pick<ReturnType<typeof wireOf>, 'rules' | 'probes'>,
): void {
  const isOwn = ({ name }: Part) => isOfBase(name, base) && sideKeyOf(name) === side;
  const isOwnFrontend = ({ name, properties }: Part) =>
    isOfBase(name, base) && frontendSide(name, textIn(objectIn(properties, 'subnet'), 'id')) === side;
  next[lists.rules] = replaced(next[lists.rules], wire.rules, isOwn);
  next[lists.probes] = replaced(next[lists.probes], wire.probes, isOwn);
  const users = next[lists.rules]
    .filter((rule) => !isOwn(rule))
    .map((rule) => idIn(rule.properties, 'frontendIPConfiguration'));
  const isFree = ({ name, properties }: Part) =>
    !users.some((id) => id?.endsWith(`/${name}`.toLowerCase())) &&
    otherLists.every((list) => listIn(properties, list).length === 0);
  const desired = frontends.map((one) => {
    const there = next[lists.frontends].find((other) => sameName(one, other));
    // Zones can never change, and people chain a gateway load balancer to a frontend.
    const properties = Object.entries(one.properties).filter(([, value]) => value !== undefined);
    return there === undefined
      ? one
      : { ...there, properties: { ...there.properties, ...Object.fromEntries(properties) } };
  });
  next[lists.frontends] = replaced(next[lists.frontends], desired, (part) => isOwnFrontend(part) && isFree(part));
}

function withPool(pools: readonly Part[], { name, kind, virtualNetwork, members }: PoolSpec): readonly Part[] {
  const there = pools.find((pool) => pool.name.toLowerCase() === name.toLowerCase());
  if (kind !== 'addresses') return there === undefined ? [...pools, { name, properties: {} }] : pools;
  const isSame = there && members.length === poolAddresses(there).length;
  if (isSame && members.every(({ address }) => poolAddresses(there).includes(address))) return pools;
  const standing = there === undefined ? [] : partsIn({ properties: there.properties }, 'loadBalancerBackendAddresses');
  const nodes = new Set(members.map(({ node }) => node));
  const addresses = members.map(({ node, address }): Part => {
    const there = standing.find(({ properties }) => canonical(textIn(properties, 'ipAddress') ?? '') === address);
    // Names are unique: one that was made for another node may be needed for that node's new address.
    const isKept = there !== undefined && (there.name === node || !nodes.has(there.name));
    const own: Sent<network.LoadBalancerBackendAddressPropertiesFormat> = { ipAddress: address };
    return isKept ? there : { name: node, properties: own };
  });
  const own: Sent<network.BackendAddressPoolPropertiesFormat> = {
    virtualNetwork: there?.properties['virtualNetwork'] ?? { id: virtualNetwork },
    loadBalancerBackendAddresses: addresses,
  };
  const next: Part = { ...there, name: there?.name ?? name, properties: { ...there?.properties, ...own } };
  return there === undefined ? [...pools, next] : pools.map((pool) => (pool === there ? next : pool));
}
