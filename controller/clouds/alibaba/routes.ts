import { CloudError, isCloudError } from '../../../common/cloud-error.ts';
import type { Clock } from '../../../common/process/clock.ts';
import { restOrAbort } from '../../../common/process/until.ts';
import { alibaba } from '../../../common/provider-id/alibaba.ts';
import type { AnswerFields } from '../answer-fields.ts';
import { createBatches, type PendingChange, sendTogether } from '../change-batches.ts';
import { normalCidr } from '../ip-address.ts';
import { chunks, inParallel } from '../parallel.ts';
import type { Permit } from '../permit.ts';
import type { ObservedRoute, Routes } from '../routes.ts';
import type { Urgency } from '../urgency.ts';
import type { AlibabaClient } from './client.ts';
import { cloud, invalid, kindOfCode } from './fault.ts';
import type { Place } from './place.ts';

/** A route: the same entry in every table. */
export interface AlibabaRoute extends ObservedRoute {
  /** Id of the next hop: an instance, or anything else that packets can go to. */
  readonly nextHop: string;
  /** Tables that have it. */
  readonly tables: readonly string[];
}

interface Change {
  readonly action: 'CreateRouteEntries' | 'DeleteRouteEntries';
  readonly destination: string;
  readonly nextHop: string;
}

interface Entry {
  readonly table: string;
  readonly id: string;
  readonly destination: string;
  readonly nextHop: string;
  readonly isInstance: boolean;
}

const operation = 'routes';
/** The most that one call takes. */
const entriesAtOnce = 50;
const tries = 6;
const busyMs = 1000;

/**
 * Pod routes as custom entries of the tables of the cluster, to instances. Entries cannot be marked. What gathers while
 * a call runs goes with the next one, because a table takes one change at a time. A route that one of the tables lacks
 * is added there.
 */
export function createRoutes(client: AlibabaClient, clock: Clock, place: Place): Routes<AlibabaRoute> {
  const change = createBatches<Change, void>(cloud, run);

  async function entries(urgency: Urgency, signal: AbortSignal | undefined): Promise<readonly Entry[]> {
    const tables = await place.routeTables(signal);
    const lists = await inParallel(4, tables, (table) =>
      client.list({
        product: 'vpc',
        action: 'DescribeRouteEntryList',
        urgency,
        signal,
        params: { RouteTableId: table, RouteEntryType: 'Custom' },
        paging: 'MaxResult',
        items: ['RouteEntrys', 'RouteEntry'],
      }),
    );
    return lists.flatMap((list, at) => list.map((one) => entryOf(tables[at]!, one)));
  }

  /** Sends a batch, one kind of change after the other: what is removed may be in the way of what is created. */
  async function run(batch: readonly PendingChange<Change, void>[], signal: AbortSignal): Promise<void> {
    const tables = await place.routeTables(signal);
    for (const action of ['DeleteRouteEntries', 'CreateRouteEntries'] as const) {
      const pending = batch.filter((one) => one.change.action === action);
      for (const some of chunks(pending, Math.max(1, Math.floor(entriesAtOnce / tables.length))))
        await send(action, some, tables, signal);
    }
  }

  async function send(
    action: Change['action'],
    pending: readonly PendingChange<Change, void>[],
    tables: readonly string[],
    signal: AbortSignal,
  ): Promise<void> {
    for (let tried = 1; pending.some(({ done }) => !done); tried += 1) {
      const now = await entries('change', signal);
      const isThere = (table: string, { destination, nextHop }: Change) =>
        now.some((one) => one.table === table && one.destination === destination && one.nextHop === nextHop);
      const missing = ({ change: one }: PendingChange<Change, void>) =>
        tables.filter((table) => isThere(table, one) === (action === 'DeleteRouteEntries'));
      for (const one of pending) {
        const other = action === 'CreateRouteEntries' && now.find((entry) => isInTheWay(entry, one.change));
        if (missing(one).length === 0) one.resolve();
        else if (other) one.reject(conflict(other));
      }
      let answer: AnswerFields | undefined;
      try {
        const sent = await sendTogether(pending, (permitted, permit) => {
          const changes = permitted.flatMap((one) => missing(one).map((table) => ({ table, change: one.change })));
          return write(action, changes, now, permit, signal);
        });
        if (sent === undefined) return;
        answer = sent.answer;
      } catch (error) {
        if (!isCloudError(error) || error.kind !== 'Busy' || tried === tries) throw error;
      }
      if (answer !== undefined && settle(pending, answer, tried === tries)) return;
      await restOrAbort(clock, busyMs * tried, signal);
    }
  }

  function write(
    action: Change['action'],
    changes: readonly { readonly table: string; readonly change: Change }[],
    now: readonly Entry[],
    permit: Permit,
    signal: AbortSignal,
  ): Promise<AnswerFields> {
    const RouteEntries = changes.map(({ table, change: { destination, nextHop } }) => {
      const common = { RouteTableId: table, DstCidrBlock: destination, NextHop: nextHop };
      if (action === 'CreateRouteEntries')
        return { ...common, NextHopType: 'Instance', IpVersion: destination.includes(':') ? 6 : 4 };
      const entry = now.find((one) => one.table === table && one.destination === destination);
      return { ...common, RouteEntryId: entry?.id };
    });
    return client.call({ product: 'vpc', action, params: { RouteEntries }, permit, signal });
  }

  return {
    tagged: false,
    async observe(_cluster, signal) {
      const tables = await place.routeTables(signal);
      const regionId = await client.region(signal);
      const routes = new Map<string, AlibabaRoute>();
      for (const entry of await entries('refresh', signal)) {
        // That of a NAT gateway is never a pod route.
        if (entry.destination === '0.0.0.0/0' || entry.destination === '::/0') continue;
        const before = routes.get(idOf(entry))?.tables ?? [];
        const route = routeOf(entry, [...before, entry.table], tables, regionId);
        routes.set(route.id, route);
      }
      return { quota: undefined, routes: [...routes.values()] };
    },
    async create({ destination: text, providerID }, { permit, signal }) {
      const [destination, parsed] = [normalCidr(text), alibaba.parse(providerID)];
      const [regionId, tables] = [await client.region(signal), await place.routeTables(signal)];
      if (destination === undefined) throw invalid(operation, `destination: ${JSON.stringify(text)}, expected a range`);
      if (parsed?.region !== regionId)
        throw invalid(operation, `providerID: ${JSON.stringify(providerID)}, expected an instance of ${regionId}`);
      const made = { destination, nextHop: parsed.instanceId, isInstance: true };
      await change({ action: 'CreateRouteEntries', destination, nextHop: made.nextHop }, permit, signal);
      return routeOf(made, tables, tables, regionId);
    },
    async remove({ destination, nextHop }, { permit, signal }) {
      await change({ action: 'DeleteRouteEntries', destination, nextHop }, permit, signal);
    },
  };
}

/** Settles what the answer tells; false: something is to be tried again. */
function settle(pending: readonly PendingChange<Change, void>[], answer: AnswerFields, isLast: boolean): boolean {
  const failed = answer.optionalObjects('FailedRouteEntries').map((one) => ({
    destination: normalCidr(one.text('DstCidrBlock')),
    code: one.text('FailedCode'),
    message: one.optionalText('FailedMessage') ?? '',
  }));
  let isDone = true;
  for (const one of pending.filter(({ done }) => !done)) {
    const failure = failed.find(({ destination }) => destination === one.change.destination);
    if (failure === undefined) {
      one.resolve();
      continue;
    }
    const kind = kindOfCode(failure.code) ?? 'Invalid';
    // The next read tells whether it is as it should be.
    if (!isLast && ['Busy', 'Taken', 'NotFound'].includes(kind)) isDone = false;
    else one.reject(new CloudError({ kind, cloud, operation, message: `${failure.code} ${failure.message}` }));
  }
  return isDone;
}

function entryOf(table: string, one: AnswerFields): Entry {
  const hops = one.object('NextHops').objects('NextHop');
  const text = one.text('DestinationCidrBlock');
  const isInstance = hops.length === 1 && /^instance$/i.test(hops[0]!.text('NextHopType'));
  return {
    table,
    isInstance,
    id: one.text('RouteEntryId'),
    destination: normalCidr(text) ?? text,
    nextHop: hops.map((hop) => hop.optionalText('NextHopId') ?? '').join(),
  };
}

function idOf({ destination, nextHop }: Pick<Entry, 'destination' | 'nextHop'>): string {
  return `${destination}-via-${nextHop}`;
}

function routeOf(
  entry: Pick<Entry, 'destination' | 'nextHop' | 'isInstance'>,
  having: readonly string[],
  tables: readonly string[],
  region: string,
): AlibabaRoute {
  const { destination, nextHop, isInstance } = entry;
  return {
    id: idOf(entry),
    destination,
    nextHop,
    tables: having,
    ours: undefined,
    providerID: isInstance ? alibaba.print({ instanceId: nextHop, region }) : undefined,
    blackhole: false,
    incomplete: having.length < tables.length,
  };
}

function isInTheWay({ destination, nextHop }: Entry, change: Change): boolean {
  return destination === change.destination && nextHop !== change.nextHop;
}

function conflict({ destination, nextHop, table }: Entry): CloudError {
  const message = `${destination} leads to ${nextHop} in ${table} already`;
  return new CloudError({ kind: 'Conflict', cloud, operation, message });
}
