import type { InstanceRef, OpenedCloud } from './cloud.ts';
import { type InstanceReader, lookupPass, type Target } from './lookup-pass.ts';
import { createMachineReader, type Machines } from './machines.ts';

export interface LookupsOptions {
  readonly cloud: string;
  /** Up to so many instances are asked for one by one; for more, lists are read. Default 2. */
  readonly listAbove?: number;
  targetOf(ref: InstanceRef): Target;
  /** Called once per pass, so that what it reads is read at most once. */
  createReader(): InstanceReader;
}

const batchSize = 1000;

/** The lookups of one cloud: a providerID is its own where it has an id to ask for. */
export function createLookups(options: LookupsOptions): Pick<OpenedCloud, 'accepts' | 'instances'> {
  const { cloud, listAbove = 2, targetOf, createReader } = options;
  return {
    accepts: (providerID) => targetOf({ by: 'providerID', providerID }).ask === 'id',
    instances: {
      batchSize,
      lookup: (refs, given) => lookupPass({ ...given, cloud, refs, reader: createReader(), listAbove, targetOf }),
    },
  };
}

/** The same for clouds whose reader reads machines. @param machines as `createReader` of LookupsOptions */
export function createMachineLookups({
  machines,
  ...options
}: Omit<LookupsOptions, 'createReader'> & { machines(): readonly Machines[] }): ReturnType<typeof createLookups> {
  return createLookups({ ...options, createReader: () => createMachineReader(options.cloud, machines()) });
}

/**
 * A providerID is asked for by its id, and a name as it is.
 *
 * @param idOf undefined for a providerID that is none of this scope
 * @param what for the refusal: `VM of oVirt`
 */
export function targetBy(idOf: (providerID: string) => string | undefined, what: string) {
  return (ref: InstanceRef): Target => {
    if (ref.by === 'name') return { ask: 'name', name: ref.name };
    const id = idOf(ref.providerID);
    if (id !== undefined) return { ask: 'id', id, by: 'providerID' };
    return { ask: 'nothing', problem: `${JSON.stringify(ref.providerID)} is no ${what}` };
  };
}
