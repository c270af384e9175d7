import { CloudError, isCloudError } from '../../common/cloud-error.ts';
import { type InstanceRef, type Lookup, type LookupOptions, maxAbsenceProofs, refKey } from './cloud.ts';

/** The answer of a list about one id. A list cannot prove absence, so an id that it leaves out is `missing`. */
export type Listed = Exclude<Lookup, { readonly state: 'absent' }> | { readonly state: 'missing' };

/** The answer of a name search. */
export type Named = Exclude<Lookup, { readonly state: 'absent' }>;

/** One cloud's reads, by its own ids. A failure may be thrown, for all ids of the request, or answered per id. */
export interface InstanceReader {
  /** Reads many instances in few calls. */
  list(ids: readonly string[], signal?: AbortSignal): Promise<ReadonlyMap<string, Listed>>;
  /** Requests these ids; `found` has `request: 'id'`. The only source of `absent`. */
  get(ids: readonly string[], signal?: AbortSignal): Promise<ReadonlyMap<string, Lookup>>;
  /** Finds instances by the names of their Nodes. */
  byName(names: readonly string[], signal?: AbortSignal): Promise<ReadonlyMap<string, Named>>;
}

/**
 * How a ref is looked up. `by: 'name'` with an id: the name contains the id, which finds the instance but never proves
 * its absence.
 */
export type Target =
  | { readonly ask: 'id'; readonly id: string; readonly by: InstanceRef['by'] }
  | { readonly ask: 'name'; readonly name: string }
  /** This scope cannot contain it. */
  | { readonly ask: 'nothing'; readonly problem: string };

export interface LookupPassOptions extends LookupOptions {
  readonly cloud: string;
  readonly refs: readonly InstanceRef[];
  readonly targetOf: (ref: InstanceRef) => Target;
  readonly reader: InstanceReader;
  /** Up to this many ids are requested by id at once, without a list. */
  readonly listAbove: number;
}

/**
 * The order of requests of one lookup, for every cloud that can list and get. A list finds the candidates for absence,
 * and a request by id proves it, for at most `maxAbsenceProofs` ids per pass in the order of the refs. If an id is
 * absent, the canaries are requested by id, too. Answers every ref exactly once and never throws.
 */
export async function lookupPass(options: LookupPassOptions): Promise<ReadonlyMap<string, Lookup>> {
  const { cloud, refs, targetOf, reader, listAbove, canaries = [], signal } = options;
  const operation = 'lookup';
  const unknown = (kind: CloudError['kind'], message: string): Lookup & { state: 'unknown' } => ({
    state: 'unknown',
    error: new CloudError({ kind, cloud, operation, message }),
  });
  const failed = (error: unknown): Lookup & { state: 'unknown' } => ({
    state: 'unknown',
    error: isCloudError(error)
      ? error
      : new CloudError({ kind: 'Unavailable', cloud, operation, message: messageOf(error), cause: error }),
  });
  async function ask<Answer>(
    asked: readonly string[],
    read: (asked: readonly string[], signal?: AbortSignal) => Promise<ReadonlyMap<string, Answer>>,
  ): Promise<Map<string, Answer | (Lookup & { state: 'unknown' })>> {
    if (asked.length === 0) return new Map();
    try {
      signal?.throwIfAborted();
      const answers = await read(asked, signal);
      return new Map(
        asked.map((key) => [key, answers.get(key) ?? unknown('Unavailable', `the answer says nothing of ${key}`)]),
      );
    } catch (error) {
      return new Map(asked.map((key) => [key, failed(error)]));
    }
  }

  const targets = new Map(refs.map((ref) => [refKey(ref), targetOf(ref)]));
  const ids = new Set<string>();
  const provable = new Set<string>();
  const names = new Set<string>();
  for (const target of targets.values()) {
    if (target.ask === 'name') names.add(target.name);
    if (target.ask !== 'id') continue;
    ids.add(target.id);
    if (target.by === 'providerID') provable.add(target.id);
  }

  const named = ask([...names], reader.byName);
  const answers: Map<string, Listed | Lookup> =
    ids.size <= Math.min(listAbove, maxAbsenceProofs)
      ? await ask([...ids], reader.get)
      : await ask([...ids], reader.list);
  const missing = [...ids].filter((id) => provable.has(id) && answers.get(id)?.state === 'missing');
  for (const [id, proof] of await ask(missing.slice(0, maxAbsenceProofs), reader.get)) answers.set(id, proof);
  const byName = await named;

  const result = new Map<string, Lookup>();
  for (const [key, target] of targets) result.set(key, answerFor(target));
  const absent = [...result.values()].some(({ state }) => state === 'absent');
  if (absent && canaries.length > 0) await lookUpCanaries();
  return result;

  function answerFor(target: Target): Lookup {
    if (target.ask === 'nothing') return unknown('Invalid', target.problem);
    if (target.ask === 'name') return byName.get(target.name)!;
    const answer = answers.get(target.id)!;
    if (target.by === 'name' && (answer.state === 'missing' || answer.state === 'absent')) {
      return unknown('NotFound', `no instance ${target.id}; a name proves no absence`);
    }
    if (answer.state !== 'missing') return answer;
    return unknown('NotFound', `${target.id} is not in the list; its proof waits for a later pass`);
  }

  async function lookUpCanaries(): Promise<void> {
    const canaryTargets = new Map(canaries.map((ref) => [refKey(ref), targetOf(ref)]));
    const canaryIds = new Set<string>();
    for (const target of canaryTargets.values()) if (target.ask === 'id') canaryIds.add(target.id);
    const proofs = await ask([...canaryIds], reader.get);
    for (const [key, target] of canaryTargets) {
      const answer =
        target.ask === 'id'
          ? proofs.get(target.id)!
          : unknown('Invalid', 'a canary must be asked for by its providerID');
      // An instance that the list found stays found when the request by id failed, but its `request` shows that it is
      // no canary.
      if (answer.state === 'unknown' && result.has(key)) continue;
      result.set(key, answer);
    }
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
