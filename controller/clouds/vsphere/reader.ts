import { CloudError, type CloudErrorKind, isCloudError } from '../../../common/cloud-error.ts';
import { vsphere } from '../../../common/provider-id/vsphere.ts';
import { swapped } from '../../../common/smbios-uuid.ts';
import type { Lookup } from '../cloud.ts';
import type { InstanceReader, Listed, Named } from '../lookup-pass.ts';
import { inParallel } from '../parallel.ts';
import type { Role } from './config.ts';
import type { LastSeen } from './memory.ts';
import { faultOf, type Ref, refKey } from './soap.ts';
import type { VCenter } from './vcenter.ts';
import { readVirtualMachine, type VirtualMachine, vmPaths } from './virtual-machine.ts';
import type { ReadZones, Zone } from './zones.ts';

/** Where a VM is. */
export interface Place {
  readonly vcenter: VCenter;
  readonly ref: Ref;
}
interface Entry extends Place {
  readonly uuid: string;
  /** What its Node may be called, the likeliest first: the guest's host name, the VM's name, its address. */
  readonly names: readonly (string | undefined)[];
}
type Found = Lookup & { readonly state: 'found' };
type Answer = Found | (Lookup & { readonly state: 'unknown' });

export interface ReaderOptions {
  readonly vcenters: readonly { readonly vcenter: VCenter; readonly readZones: ReadZones }[];
  readonly roles: readonly Role[];
  /** Every pass adds to it. */
  readonly lastSeen: LastSeen;
}

const callsAtOnce = 4;
const indexPaths = ['summary.config.uuid', 'guest.hostName', 'summary.config.name', 'guest.ipAddress'];
/** Both byte orders are one VM. */
const keyOf = (uuid: string) => vsphere.comparable?.(uuid) ?? uuid;
const addressOf = ({ config: { server, port } }: VCenter) => `${server}:${port}`;
const placeKey = ({ vcenter, ref }: Place) => `${addressOf(vcenter)} ${refKey(ref)}`;

/** By the server's address, so that another client of the same vCenter takes the memory over. */
const seenKey = (vcenter: VCenter, id: string) => `${addressOf(vcenter)} ${keyOf(id)}`;

/**
 * Reads VMs of all vCenters, for one pass. `absent` needs all of this: every vCenter answers and shows some VM, none
 * lists the uuid or finds it by its search index, in either byte order, and the object that this process knew it as
 * has been deleted; where it knew none, no VM is listed without its uuid.
 */
export function createReader({ vcenters, roles, lastSeen }: ReaderOptions): InstanceReader {
  let index: ReturnType<typeof readIndex> | undefined;

  /** All VMs that can be seen; `failure` says why some cannot. */
  async function readIndex(signal: AbortSignal | undefined) {
    const entries: Entry[] = [];
    const list = async ({ vcenter }: Pick<Place, 'vcenter'>) => {
      const rows = await vcenter.list(indexPaths, signal);
      if (rows.length === 0) throw problem('Forbidden', `${vcenter.config.server} shows no VM at all to its user`);
      for (const { ref, values } of rows) {
        const [uuid = '', ...names] = indexPaths.map((path) => values.get(path)?.text.toLowerCase());
        entries.push({ vcenter, ref, uuid, names });
      }
    };
    const failure = await firstFailure(vcenters.map(list));
    return { entries, failure };
  }

  const indexOnce = (signal: AbortSignal | undefined) => {
    index ??= readIndex(signal);
    return index;
  };

  /** One call for all VMs of a vCenter. Those that were deleted meanwhile are left out. */
  async function describe(places: readonly Place[], request: Found['request'], signal: AbortSignal | undefined) {
    const answers = new Map<string, Answer>();
    const ofVCenter = vcenters.map(async ({ vcenter, readZones }) => {
      const mine = places.filter((place) => place.vcenter === vcenter);
      const rules = { families: vcenter.config.families, roles };
      try {
        const rows = await rowsOf(vcenter, mine, signal);
        const vms = rows.map((row) => readVirtualMachine(row, rules));
        const where = vms.map((vm) => vm?.places ?? []);
        // Tags come from a service of their own, and only new Nodes need them.
        const zones = await readZones(vcenter, where, signal).catch((error): Zone[] => {
          const { kind, message } = asCloudError(error);
          return vms.map(() => ({ placeUnknown: `${kind}: ${message}` }));
        });
        for (const [at, { ref }] of rows.entries())
          answers.set(placeKey({ vcenter, ref }), answerOf(vms[at], zones[at], request));
      } catch (error) {
        for (const place of mine) answers.set(placeKey(place), unknown(error));
      }
    });
    await Promise.all(ofVCenter);
    return answers;
  }

  /** The one VM of a uuid: of several, as replicas are, the one that runs. */
  function pick(id: string, places: readonly Place[], answers: ReadonlyMap<string, Answer>): Answer {
    const mine = places.flatMap((place) => {
      const answer = answers.get(placeKey(place));
      return answer === undefined ? [] : [{ place, answer }];
    });
    const running = mine.filter(({ answer }) => answer.state === 'found' && answer.power === 'running');
    const [only, ...others] = mine.length > 1 ? running : mine;
    if (only === undefined || others.length > 0 || mine.some(({ answer }) => answer.state === 'unknown')) {
      const failed = mine.find(({ answer }) => answer.state === 'unknown')?.answer;
      const names = places.map(({ vcenter, ref }) => `${ref.value} of ${vcenter.config.server}`).join(', ');
      return failed ?? unknown(problem('Conflict', `uuid ${id} is of ${names || 'a VM that was deleted just now'}`));
    }
    for (const { vcenter } of vcenters) lastSeen.delete(seenKey(vcenter, id));
    lastSeen.set(seenKey(only.place.vcenter, id), only.place.ref);
    return only.answer;
  }

  async function search(
    uuid: string,
    signal: AbortSignal | undefined,
  ): Promise<{ places: Place[]; failure?: CloudError }> {
    const places: Place[] = [];
    const failure = await firstFailure(
      vcenters.map(async ({ vcenter }) => {
        const refs = await vcenter.findByUuid(uuid, signal);
        places.push(...refs.map((ref) => ({ vcenter, ref })));
      }),
    );
    return failure === undefined || places.length > 0 ? { places } : { places, failure };
  }

  /** What it means that a search in both byte orders found nothing. */
  async function prove(id: string, signal: AbortSignal | undefined): Promise<Lookup> {
    const { entries, failure } = await indexOnce(signal);
    if (failure !== undefined) return unknown(failure);
    if (entries.some(({ uuid }) => keyOf(uuid) === keyOf(id)))
      return unknown(problem('Conflict', `the list has uuid ${id}, the search index has not`));
    const hasSeen = vcenters.some(({ vcenter }) => lastSeen.has(seenKey(vcenter, id)));
    const hidden = hasSeen ? undefined : entries.find(({ uuid }) => uuid === '');
    if (hidden !== undefined) {
      const where = `${hidden.ref.value} of ${hidden.vcenter.config.server}`;
      return unknown(problem('Forbidden', `${where} is in the list without its uuid, and may be ${id}`));
    }
    for (const { vcenter } of vcenters) {
      const ref = lastSeen.get(seenKey(vcenter, id));
      if (ref === undefined) continue;
      try {
        await vcenter.retrieve('VirtualMachine', ['name'], [ref], signal);
        return unknown(problem('Conflict', `${ref.value} is there, and no longer found by uuid ${id}`));
      } catch (error) {
        // No other object ever gets its name, so the next proof says the same.
        if (faultOf(error)?.fault !== 'ManagedObjectNotFound') return unknown(error);
      }
    }
    return { state: 'absent' };
  }

  return {
    async list(ids, signal) {
      const { entries, failure } = await indexOnce(signal);
      const desired = new Set(ids.map(keyOf));
      const places = Map.groupBy(
        entries.filter(({ uuid }) => desired.has(keyOf(uuid))),
        ({ uuid }) => keyOf(uuid),
      );
      const answers = await describe([...places.values()].flat(), 'list', signal);
      const listed = new Map<string, Listed>();
      for (const id of ids) {
        const mine = places.get(keyOf(id));
        if (mine !== undefined) listed.set(id, pick(id, mine, answers));
        else listed.set(id, failure === undefined ? { state: 'missing' } : unknown(failure));
      }
      return listed;
    },

    async get(ids, signal) {
      const hits = new Map<string, Place[]>();
      const lookups = new Map<string, Lookup>();
      await inParallel(callsAtOnce, ids, async (id) => {
        let { places, failure } = await search(id, signal);
        if (places.length === 0 && failure === undefined) ({ places, failure } = await search(swapped(id), signal));
        if (failure !== undefined) lookups.set(id, unknown(failure));
        else if (places.length === 0) lookups.set(id, await prove(id, signal));
        else hits.set(id, places);
      });
      const answers = await describe([...hits.values()].flat(), 'id', signal);
      for (const [id, places] of hits) lookups.set(id, pick(id, places, answers));
      return lookups;
    },

    async byName(names, signal) {
      const { entries, failure } = await indexOnce(signal);
      const hits = new Map<string, readonly Entry[]>();
      for (const name of names) {
        const by = [0, 1, 2].map((rank) => entries.filter((entry) => entry.names[rank] === name.toLowerCase()));
        hits.set(name, by.find((found) => found.length > 0) ?? []);
      }
      const single = [...hits.values()].filter((found) => found.length === 1).flat();
      const answers = await describe(single, 'list', signal);
      const named = new Map<string, Named>();
      for (const [name, found] of hits) {
        const uuids = found.map(({ uuid }) => uuid).join(', ');
        if (found.length === 1) named.set(name, withNamesakes(pick(found[0]!.uuid, found, answers), failure));
        else if (failure !== undefined) named.set(name, unknown(failure));
        else if (found.length === 0) named.set(name, unknown(problem('NotFound', `no VM is called ${name}`)));
        else named.set(name, unknown(problem('Conflict', `several VMs are called ${name}: ${uuids}`)));
      }
      return named;
    },
  };
}

/** A vCenter that fails may have a VM of the same name. */
function withNamesakes(answer: Answer, failure: CloudError | undefined): Answer {
  if (failure === undefined || answer.state !== 'found') return answer;
  return { ...answer, instance: { ...answer.instance, namesakesUnknown: `${failure.kind}: ${failure.message}` } };
}

/** One object that is no more fails the call for all: it is left out, and the call made again. */
async function rowsOf(vcenter: VCenter, places: readonly Place[], signal: AbortSignal | undefined) {
  const refs = new Map(places.map(({ ref }) => [refKey(ref), ref]));
  while (refs.size > 0) {
    try {
      return await vcenter.retrieve('VirtualMachine', vmPaths, [...refs.values()], signal);
    } catch (error) {
      const fault = faultOf(error);
      const isGone = fault?.fault === 'ManagedObjectNotFound' && fault.ref !== undefined;
      if (!isGone || !refs.delete(refKey(fault.ref))) throw error;
    }
  }
  return [];
}

function answerOf(vm: VirtualMachine | undefined, zone: Zone | undefined, request: Found['request']): Answer {
  if (vm === undefined)
    return unknown(problem('Forbidden', 'the VM cannot be read: it is being made, or System.Read is missing'));
  const { uuid, name, power, type, addresses } = vm;
  if (addresses === undefined)
    return unknown(problem('Unavailable', `VMware Tools of ${name} tell no host name and address for each family yet`));
  const providerID = vsphere.print({ instanceId: uuid });
  const instance = {
    cloud: 'vsphere',
    id: uuid,
    providerID,
    incarnation: uuid,
    name,
    type,
    addresses,
    smbiosUuid: uuid,
  };
  return { state: 'found', request, power, instance: { ...instance, ...zone } };
}

async function firstFailure(work: readonly Promise<void>[]): Promise<CloudError | undefined> {
  const failed = (await Promise.allSettled(work)).find((one) => one.status === 'rejected');
  return failed && asCloudError(failed.reason);
}

function problem(kind: CloudErrorKind, message: string): CloudError {
  return new CloudError({ kind, cloud: 'vsphere', operation: 'lookup', message });
}

function asCloudError(error: unknown): CloudError {
  return isCloudError(error) ? error : problem('Unavailable', String(error));
}

function unknown(error: unknown): Answer & { readonly state: 'unknown' } {
  return { state: 'unknown', error: asCloudError(error) };
}
