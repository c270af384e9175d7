import type { Clock } from '../../../common/process/clock.ts';
import type { FakeAnswer, Json } from '../fake-http.ts';

/** An error answer of the API. */
export class FakeRefusal extends Error {
  readonly status: number;
  readonly code: string;
  readonly details: unknown;

  constructor(status: number, code: string, message: string, details?: unknown) {
    super(message);
    this.status = status;
    this.code = code;
    this.details = details;
  }
}

export const notFound = (what: string) => new FakeRefusal(404, 'not_found', `${what} not found`);

/** A value that the API does not take. */
export function invalidInput(field: string, message: string): FakeRefusal {
  const details = { fields: [{ name: field, messages: [message] }] };
  return new FakeRefusal(422, 'invalid_input', `invalid input in field '${field}': ${message}`, details);
}

export interface FakeAction {
  readonly id: number;
  readonly command: string;
  readonly resources: readonly { readonly id: number; readonly type: string }[];
  readonly startedAt: number;
  readonly endsAt: number;
  readonly error: { readonly code: string; readonly message: string } | null;
  /** What it makes true when it ends well. */
  readonly effect: () => void;
  done: boolean;
}

/** Actions of all resources. Each takes its time, and locks its resources meanwhile. */
export interface FakeActions {
  /** How long one takes. */
  durationMs: number;
  /** The next action ends with this error and without an effect. */
  failNext: { readonly code: string; readonly message: string } | undefined;
  start(command: string, resources: FakeAction['resources'], effect?: () => void): Json;
  /** Throws `locked` while an action on it runs. */
  assertUnlocked(type: string, id: number): void;
  shown(ids: readonly number[]): Json[];
  /** Effects of those that have ended by now. */
  settle(): void;
}

export function createActions(clock: Clock, nextId: () => number): FakeActions {
  const actions = new Map<number, FakeAction>();

  function show(action: FakeAction): Json {
    const { id, command, resources, startedAt, endsAt, error, done } = action;
    const progress = done ? 100 : Math.floor((100 * (clock.now() - startedAt)) / (endsAt - startedAt));
    return {
      id,
      command,
      progress,
      resources,
      status: !done ? 'running' : error === null ? 'success' : 'error',
      started: new Date(startedAt).toISOString(),
      finished: done ? new Date(endsAt).toISOString() : null,
      error: done ? error : null,
    };
  }

  const self: FakeActions = {
    durationMs: 800,
    failNext: undefined,
    start(command, resources, effect = () => {}) {
      const startedAt = clock.now();
      const error = self.failNext ?? null;
      self.failNext = undefined;
      const times = { startedAt, endsAt: startedAt + self.durationMs };
      const action: FakeAction = { id: nextId(), command, resources, ...times, error, effect, done: false };
      actions.set(action.id, action);
      self.settle();
      return show(action);
    },
    assertUnlocked(type, id) {
      for (const { done, command, resources } of actions.values())
        if (!done && resources.some((one) => one.type === type && one.id === id))
          throw new FakeRefusal(423, 'locked', `${type} ${id} is locked: ${command} is running`);
    },
    shown: (ids) => [...actions.values()].filter(({ id }) => ids.length === 0 || ids.includes(id)).map(show),
    settle() {
      for (const action of actions.values()) {
        if (action.done || clock.now() < action.endsAt) continue;
        action.done = true;
        if (action.error === null) action.effect();
      }
    },
  };
  return self;
}

/** A page of a collection, as lists answer it. */
export function pageOf(collection: string, all: readonly Json[], query: URLSearchParams): FakeAnswer {
  const [page, perPage] = [Number(query.get('page') ?? 1), Math.min(Number(query.get('per_page') ?? 25), 50)];
  const selector = query.get('label_selector');
  const hits = all
    .filter(({ name }) => !query.has('name') || query.getAll('name').includes(String(name)))
    .filter(({ labels }) => selector === null || selects(selector, labels as Readonly<Record<string, string>>));
  if (query.get('sort') === 'id:desc') hits.reverse();
  const last = Math.max(1, Math.ceil(hits.length / perPage));
  const pagination = {
    page,
    per_page: perPage,
    last_page: last,
    total_entries: hits.length,
    previous_page: page > 1 ? page - 1 : null,
    next_page: page < last ? page + 1 : null,
  };
  return {
    status: 200,
    body: { [collection]: hits.slice((page - 1) * perPage, page * perPage), meta: { pagination } },
  };
}

/** Hetzner's label selectors: `a=b`, `a!=b`, `a`, `!a`, `a in (b,c)`, `a notin (b,c)`, with commas between. */
export function selects(selector: string, labels: Readonly<Record<string, string>>): boolean {
  return selector.split(/,(?![^(]*\))/).every((expression) => {
    const set = /^\s*(\S+)\s+(in|notin)\s+\(([^)]*)\)\s*$/.exec(expression);
    if (set) {
      const values = set[3]!.split(',').map((value) => value.trim());
      return (set[2] === 'in') === (labels[set[1]!] !== undefined && values.includes(labels[set[1]!]!));
    }
    const equal = /^\s*([^!=\s]+)\s*(==|=|!=)\s*([^=\s]*)\s*$/.exec(expression);
    if (equal) return (labels[equal[1]!] === equal[3]) === (equal[2] !== '!=');
    const key = expression.trim();
    if (!/^!?[A-Za-z0-9._/-]+$/.test(key)) throw invalidInput('label_selector', `cannot be read: ${selector}`);
    return key.startsWith('!') ? labels[key.slice(1)] === undefined : labels[key] !== undefined;
  });
}

const labelKey = /^([a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?\/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/;
const labelValue = /^([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$/;

/** The labels of a request; those that are given before where it has none. */
export function labelsOf(body: Json, before: Json): Json {
  if (body['labels'] === undefined) return before;
  const labels = body['labels'] as Json;
  for (const [key, value] of Object.entries(labels)) {
    const good = labelKey.test(key) && !key.startsWith('hetzner.cloud/');
    if (!good || typeof value !== 'string' || !labelValue.test(value)) throw invalidInput('labels', `${key}: ${value}`);
  }
  return { ...labels };
}
