import type { FakeAnswer, Json } from '../../fake-http.ts';
import { FakeRefusal, type FakeRequest, invalid, notFound, ok, pageByNumber, required } from './fake-api.ts';
import { shownTags, tagsOf } from './fake-balancers.ts';
import type { FakeList, FakeRegion } from './fake-region.ts';

const entriesAtOnce = 50;

function listOf(region: FakeRegion, request: FakeRequest): FakeList {
  const list = region.lists.get(required(request, 'AclId'));
  if (list === undefined) throw notFound('AclNotExist');
  return list;
}

function shown({ id, name, version, tags }: FakeList): Json {
  return {
    AclId: id,
    AclName: name,
    AddressIPVersion: version,
    Tags: { Tag: shownTags(tags) },
    ResourceGroupId: 'rg-d',
  };
}

export function describeLists(region: FakeRegion, request: FakeRequest): FakeAnswer {
  const { items, paging } = pageByNumber([...region.lists.values()].map(shown), request, 50);
  return ok({ ...paging, Count: items.length, Acls: { Acl: items } });
}

export function describeList(region: FakeRegion, request: FakeRequest): FakeAnswer {
  const list = listOf(region, request);
  const [page, size] = [Number(request.params.get('Page') ?? 1), Number(request.params.get('PageSize') ?? 50)];
  if (!(size >= 1 && size <= 50)) throw invalid('PageSize');
  const entries = list.entries.slice((page - 1) * size, page * size);
  const AclEntry = entries.map((AclEntryIP) => ({ AclEntryIP, AclEntryComment: '' }));
  return ok({ ...shown(list), TotalAclEntry: list.entries.length, AclEntrys: { AclEntry } });
}

export function createList(region: FakeRegion, request: FakeRequest): FakeAnswer {
  const [name, version] = [required(request, 'AclName'), request.params.get('AddressIPVersion') ?? 'ipv4'];
  const list = { id: region.nextId('acl'), name, version, tags: tagsOf(request), entries: [] };
  region.lists.set(list.id, list);
  return ok({ AclId: list.id });
}

function entriesIn(request: FakeRequest): string[] {
  const entries: readonly Json[] = JSON.parse(required(request, 'AclEntrys'));
  if (entries.length === 0 || entries.length > entriesAtOnce) throw invalid('AclEntrys');
  return entries.map(({ entry }) => String(entry));
}

export function addEntries(region: FakeRegion, request: FakeRequest): FakeAnswer {
  const list = listOf(region, request);
  const added = entriesIn(request);
  if (added.some((entry) => entry.includes(':') !== (list.version === 'ipv6'))) throw invalid('AclEntry');
  if (added.some((entry) => list.entries.includes(entry))) throw new FakeRefusal(400, 'AclEntryDuplicated');
  list.entries.push(...added);
  return ok({});
}

export function removeEntries(region: FakeRegion, request: FakeRequest): FakeAnswer {
  const list = listOf(region, request);
  const gone = entriesIn(request);
  list.entries = list.entries.filter((entry) => !gone.includes(entry));
  return ok({});
}

export function deleteList(region: FakeRegion, request: FakeRequest): FakeAnswer {
  const { id } = listOf(region, request);
  const all = [...region.balancers.values()].flatMap(({ listeners }) => [...listeners.values()]);
  if (all.some(({ wire }) => wire['AclStatus'] === 'on' && wire['AclId'] === id))
    throw new FakeRefusal(400, 'AclInUse', 'The access control list is used by listeners.');
  region.lists.delete(id);
  return ok({});
}
