import type { FakeAnswer, Json } from '../../fake-http.ts';
import { FakeRefusal, type FakeRequest, notFound, ok, pageByNumber, pageByToken, read, required } from './fake-api.ts';
import type { FakeEntry, FakeRegion } from './fake-region.ts';

const entriesAtOnce = 50;

export function describeTables(region: FakeRegion, request: FakeRequest): FakeAnswer {
  const all = [...region.routeTables.keys()].map((id) => ({
    RouteTableId: id,
    VpcId: region.vpc,
    RouterType: 'VRouter',
    RouteTableType: 'System',
    Status: 'Available',
    RouterId: 'vrt-bp1lhl0taikrteen8',
    AssociateType: 'VSwitch',
    VSwitchIds: { VSwitchId: [region.vswitch] },
  }));
  const of = all.filter(({ VpcId }) => VpcId === (request.params.get('VpcId') ?? VpcId));
  const { items, paging } = pageByNumber(of, request, 50);
  return ok({ ...paging, RouterTableList: { RouterTableListType: items } });
}

export function describeEntries(region: FakeRegion, request: FakeRequest): FakeAnswer {
  const table = region.routeTables.get(required(request, 'RouteTableId'));
  if (table === undefined) throw notFound('InvalidRouteTableId.NotFound');
  const { params } = request;
  const system = { ...entryOf('rte-system', '172.16.0.0/12', '', 'local'), Type: 'System' };
  const all = [system, ...table.map((one) => entryOf(one.id, one.destination, one.nextHop, one.type))].filter(
    ({ Type, DestinationCidrBlock: destination }) =>
      Type === (params.get('RouteEntryType') ?? Type) &&
      destination === (params.get('DestinationCidrBlock') ?? destination),
  );
  const { items, paging } = pageByToken(all, request, 500);
  return ok({ ...paging, RouteEntrys: { RouteEntry: items } });
}

function entryOf(id: string, destination: string, hop: string, type: string) {
  const hops: Json[] = [{ NextHopId: hop, NextHopType: type, Enabled: 1, Weight: 0, NextHopRegionId: '' }];
  return {
    RouteEntryId: id,
    DestinationCidrBlock: destination,
    Type: 'Custom',
    Status: 'Available',
    IpVersion: 'IPv4',
    NextHops: { NextHop: hops },
    RouteEntryName: '',
    Description: '',
    GmtModified: '2026-02-08T16:02:37Z',
  };
}

/** Each entry for itself: some may fail. */
function eachEntry(request: FakeRequest, act: (entry: Json) => string): FakeAnswer {
  const entries = read(request.params, 'RouteEntries');
  if (entries.length === 0 || entries.length > entriesAtOnce)
    throw new FakeRefusal(400, 'InvalidParameter.RouteEntries', 'between 1 and 50 are expected');
  const ids: string[] = [];
  const failed: Json[] = [];
  for (const entry of entries) {
    try {
      ids.push(act(entry));
    } catch (error) {
      if (!(error instanceof FakeRefusal)) throw error;
      const { Code: FailedCode, Message: FailedMessage } = error.answer.body as Json;
      failed.push({ DstCidrBlock: entry['DstCidrBlock'], NextHop: entry['NextHop'], FailedCode, FailedMessage });
    }
  }
  const counts = { SuccessCount: ids.length, FailedCount: failed.length };
  return ok({ ...counts, RouteEntryIds: ids, FailedRouteEntries: failed });
}

function tableOf(region: FakeRegion, { RouteTableId: id }: Json): FakeEntry[] {
  const table = region.routeTables.get(String(id));
  if (table === undefined) throw notFound('InvalidRouteTableId.NotFound');
  return table;
}

function assertIdle(region: FakeRegion): void {
  if (region.now() < region.tablesBusyUntil) throw new FakeRefusal(400, 'TaskConflict', 'another change is running');
}

export function createEntries(region: FakeRegion, request: FakeRequest): FakeAnswer {
  assertIdle(region);
  const answer = eachEntry(request, (entry) => {
    const table = tableOf(region, entry);
    const [destination, nextHop] = [String(entry['DstCidrBlock']), String(entry['NextHop'])];
    if (table.some((one) => one.destination === destination))
      throw new FakeRefusal(400, 'InvalidCIDRBlock.Duplicate', 'Specified CIDR block is already exists.');
    if (table.length >= region.maxEntries) throw new FakeRefusal(400, 'QuotaExceeded.RouteEntry', 'quota exceeded');
    if (!region.instances.has(nextHop)) throw notFound('InvalidNexthop.NotFound');
    const id = region.nextId('rte');
    table.push({ id, destination, nextHop, type: 'Instance' });
    return id;
  });
  region.tablesBusyUntil = region.now() + region.busyMs;
  return answer;
}

export function deleteEntries(region: FakeRegion, request: FakeRequest): FakeAnswer {
  assertIdle(region);
  const answer = eachEntry(request, (entry) => {
    const table = tableOf(region, entry);
    const at = table.findIndex(
      ({ destination, nextHop }) => destination === entry['DstCidrBlock'] && nextHop === entry['NextHop'],
    );
    if (at < 0) throw notFound('InvalidRouteEntry.NotFound');
    return table.splice(at, 1)[0]!.id;
  });
  region.tablesBusyUntil = region.now() + region.busyMs;
  return answer;
}
