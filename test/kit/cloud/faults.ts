import type { Random } from '../../../common/process/random.ts';
import { ModelError } from './instance.ts';

/**
 * What goes wrong with a call.
 *
 * | kind | what the caller sees |
 * |---|---|
 * | `latency` | the answer comes later |
 * | `error` | this status, nothing is done |
 * | `throttle` | 429 with Retry-After, nothing is done |
 * | `silence` | no answer ever; nothing is done |
 * | `lost-answer` | the call is done, then the connection breaks |
 * | `cut-body` | the answer breaks off in the middle |
 * | `missing-items` | a page (or filtered answer) that leaves items out and claims to be complete |
 * | `chain-ends-early` | a page without the token of the next one |
 * | `chain-loops` | a page whose next token leads back to the start |
 * | `stale` | the answer as it was a while ago; of load balancers, addresses and routes only lists and searches |
 * | `malformed` | status 200 and a body that is no JSON |
 * | `wrong-shape` | status 200 and JSON of another kind |
 * | `missing-fields` | these fields are left out of each item, or of the document |
 * | `oversized` | a body filled up to so many bytes |
 * | `redirect` | 302 to another place |
 * | `ends-failed` | the load balancer that is made ends up `failed` |
 */
export type Effect =
  | { readonly kind: 'latency'; readonly ms: number; readonly jitterMs?: number }
  | { readonly kind: 'error'; readonly status: number; readonly code?: string; readonly retryAfterSeconds?: number }
  | { readonly kind: 'throttle'; readonly retryAfterSeconds?: number }
  | { readonly kind: 'silence' }
  | { readonly kind: 'lost-answer' }
  | { readonly kind: 'cut-body'; readonly afterBytes?: number }
  | { readonly kind: 'missing-items'; readonly ids?: readonly string[]; readonly count?: number }
  | { readonly kind: 'chain-ends-early' }
  | { readonly kind: 'chain-loops' }
  | { readonly kind: 'stale'; readonly ageMs: number }
  | { readonly kind: 'malformed' }
  | { readonly kind: 'wrong-shape' }
  | { readonly kind: 'missing-fields'; readonly fields: readonly string[] }
  | { readonly kind: 'oversized'; readonly bytes?: number }
  | { readonly kind: 'redirect'; readonly location: string }
  | { readonly kind: 'ends-failed' };

const effectKinds: ReadonlySet<string> = new Set<Effect['kind']>([
  'latency',
  'error',
  'throttle',
  'silence',
  'lost-answer',
  'cut-body',
  'missing-items',
  'chain-ends-early',
  'chain-loops',
  'stale',
  'malformed',
  'wrong-shape',
  'missing-fields',
  'oversized',
  'redirect',
  'ends-failed',
]);

/** Which calls a fault hits, and how often. */
export interface Fault {
  /**
   * `instances.get`, `load-balancers.*`, or `*` for every call of the cloud's API. Metadata calls only as `metadata.…`.
   */
  readonly operation: string;
  readonly project?: string;
  /** Only calls about this instance. */
  readonly instance?: string;
  /** Only calls about this load balancer (with its listeners and pools), address or route. */
  readonly resource?: string;
  /** So many matching calls pass unharmed first. */
  readonly skip?: number;
  /** How often it strikes; left out = until cleared. */
  readonly times?: number;
  /** Strikes a matching call with this probability; left out = always. */
  readonly probability?: number;
  readonly effect: Effect;
}

export interface FaultedCall {
  readonly operation: string;
  readonly project?: string | undefined;
  readonly instance?: string | undefined;
  readonly resource?: string | undefined;
}

export interface Faults {
  /** @returns the fault's number, for `remove` */
  add(fault: Fault): number;
  remove(number: number): boolean;
  clear(): void;
  list(): (Fault & { readonly number: number })[];
  /** The effects that strike this call, in the order in which they were added. Counts it. */
  strike(call: FaultedCall): Effect[];
}

interface Standing {
  readonly fault: Fault;
  skipped: number;
  struck: number;
}

export function faultList(random: Random): Faults {
  const standing = new Map<number, Standing>();
  let counter = 0;

  return {
    add(fault) {
      if (typeof fault.operation !== 'string' || fault.operation === '') {
        throw new ModelError(
          'invalid',
          `fault operation: ${JSON.stringify(fault.operation)}, expected a name, name.* or *`,
        );
      }
      if (!effectKinds.has(fault.effect?.kind)) {
        const expected = [...effectKinds].join(', ');
        throw new ModelError(
          'invalid',
          `fault effect.kind: ${JSON.stringify(fault.effect?.kind)}, expected ${expected}`,
        );
      }
      counter += 1;
      standing.set(counter, { fault, skipped: 0, struck: 0 });
      return counter;
    },
    remove: (number) => standing.delete(number),
    clear: () => standing.clear(),
    list: () => [...standing].map(([number, { fault }]) => ({ number, ...fault })),
    strike(call) {
      const effects: Effect[] = [];
      for (const [number, entry] of standing) {
        const { fault } = entry;
        if (!matches(fault, call)) continue;
        if (entry.skipped < (fault.skip ?? 0)) {
          entry.skipped += 1;
          continue;
        }
        if (fault.probability !== undefined && random() >= fault.probability) continue;
        entry.struck += 1;
        if (entry.struck === fault.times) standing.delete(number);
        effects.push(fault.effect);
      }
      return effects;
    },
  };
}

function matches(fault: Fault, { operation, project, instance, resource }: FaultedCall): boolean {
  if (fault.project !== undefined && fault.project !== project) return false;
  if (fault.instance !== undefined && fault.instance !== instance) return false;
  if (fault.resource !== undefined && fault.resource !== resource) return false;
  if (fault.operation === '*') return !operation.startsWith('metadata.');
  if (fault.operation.endsWith('.*')) return operation.startsWith(fault.operation.slice(0, -1));
  return fault.operation === operation;
}
