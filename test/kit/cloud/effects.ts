import { type Clock, sleep } from '../../../common/process/clock.ts';
import type { Random } from '../../../common/process/random.ts';
import type { Effect } from './faults.ts';
import { type Answer, failure, toReply, type WireReply } from './wire.ts';

type EffectOf<K extends Effect['kind']> = Extract<Effect, { kind: K }>;

/** The effect of this kind that struck the call last, if any did. */
export function effectOf<K extends Effect['kind']>(effects: readonly Effect[], kind: K): EffectOf<K> | undefined {
  return effects.findLast((effect): effect is EffectOf<K> => effect.kind === kind);
}

/** Waits out every latency that struck the call. */
export async function delay(effects: readonly Effect[], clock: Clock, random: Random, signal: AbortSignal) {
  let ms = 0;
  for (const effect of effects) {
    if (effect.kind === 'latency') ms += effect.ms + (effect.jitterMs ? effect.jitterMs * random() : 0);
  }
  if (ms > 0) await sleep(clock, ms, signal);
}

/** The refusal that replaces the call, undefined when it is to be carried out. */
export function refusal(effects: readonly Effect[]): Answer | 'silence' | undefined {
  if (effectOf(effects, 'silence')) return 'silence';
  const throttle = effectOf(effects, 'throttle');
  if (throttle) return throttled(throttle.retryAfterSeconds ?? 1);
  const redirect = effectOf(effects, 'redirect');
  if (redirect) return { ...failure(302, 'moved', 'moved'), headers: { location: redirect.location } };
  const error = effectOf(effects, 'error');
  if (!error) return undefined;
  const headers: Record<string, string> = {};
  if (error.retryAfterSeconds !== undefined) headers['retry-after'] = String(error.retryAfterSeconds);
  return failure(error.status, error.code ?? 'simulated-fault', 'a fault that was asked for', headers);
}

export function throttled(retryAfterSeconds: number): Answer {
  return failure(429, 'throttled', 'too many calls', { 'retry-after': String(retryAfterSeconds) });
}

/** Turns an answer into bytes, spoilt as the effects say. */
export function spoil(answer: Answer, effects: readonly Effect[], random: Random): WireReply {
  if (effectOf(effects, 'lost-answer')) return { kind: 'lost' };
  let { value } = answer;
  for (const effect of effects) value = spoilValue(value, effect, random);
  const reply = toReply({ ...answer, value });
  if (reply.kind !== 'answer') return reply;
  if (effectOf(effects, 'malformed')) return { ...reply, body: `${reply.body.slice(0, -1)},` };
  const oversized = effectOf(effects, 'oversized');
  if (oversized) return { ...reply, body: reply.body.padEnd(oversized.bytes ?? 2 * 1024 * 1024, ' ') };
  const cut = effectOf(effects, 'cut-body');
  if (cut) return { ...reply, cutAfterBytes: cut.afterBytes ?? Math.floor(reply.body.length / 2) };
  return reply;
}

function spoilValue(value: unknown, effect: Effect, random: Random): unknown {
  switch (effect.kind) {
    case 'wrong-shape':
      return { unexpected: true };
    case 'missing-fields':
      return withoutFields(value, effect.fields);
    case 'missing-items':
      return hasItems(value) ? { ...value, items: withoutItems(value.items, effect, random) } : value;
    case 'chain-ends-early':
      return hasItems(value) ? { items: value.items } : value;
    case 'chain-loops':
      return hasItems(value) ? { ...value, nextPageToken: '0' } : value;
    default:
      return value;
  }
}

interface Items {
  readonly items: readonly { readonly id: string }[];
}

function hasItems(value: unknown): value is Items {
  return typeof value === 'object' && value !== null && 'items' in value && Array.isArray(value.items);
}

function withoutItems(items: Items['items'], { ids, count }: EffectOf<'missing-items'>, random: Random) {
  if (ids) return items.filter(({ id }) => !ids.includes(id));
  const left = [...items];
  for (let gone = 0; gone < (count ?? 1) && left.length > 0; gone += 1)
    left.splice(Math.floor(random() * left.length), 1);
  return left;
}

function withoutFields(value: unknown, fields: readonly string[]): unknown {
  if (hasItems(value)) return { ...value, items: value.items.map((item) => withoutFields(item, fields)) };
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).filter(([key]) => !fields.includes(key)));
}
