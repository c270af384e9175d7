import type { Clock, Timer } from '../../../common/process/clock.ts';

export interface Transition<To> {
  readonly id: string;
  readonly to: To;
  /** Monotonic milliseconds. */
  readonly at: number;
  readonly order: number;
}

/** What things are on the way to. At most one step waits for each id: a new one replaces the old. */
export interface Transitions<To> {
  /** @param at monotonic milliseconds */
  schedule(id: string, to: To, at: number): void;
  cancel(id: string): void;
  /** Removes and returns the earliest step that is due now, undefined when none is. */
  takeDue(): Transition<To> | undefined;
  close(): void;
}

/**
 * One timer serves all, however many wait.
 * @param onDue called when a step falls due without a read
 */
export function transitions<To>(clock: Clock, onDue: () => void): Transitions<To> {
  const waiting = new Map<string, Transition<To>>();
  const heap: Transition<To>[] = [];
  let timer: { at: number; handle: Timer } | undefined;
  let counter = 0;
  let closed = false;

  /** Drops replaced and cancelled steps from the top, so that the top is real. */
  function earliest(): Transition<To> | undefined {
    let top = heap[0];
    while (top && waiting.get(top.id) !== top) {
      popTop(heap);
      top = heap[0];
    }
    return top;
  }

  function arm(): void {
    const next = closed ? undefined : earliest();
    if (timer && timer.at === next?.at) return;
    timer?.handle.cancel();
    timer = undefined;
    if (!next) return;
    const handle = clock.setTimer(next.at - clock.monotonic(), () => {
      timer = undefined;
      onDue();
      arm();
    });
    timer = { at: next.at, handle };
  }

  return {
    schedule(id, to, at) {
      const step = { id, to, at, order: counter++ };
      waiting.set(id, step);
      push(heap, step);
      arm();
    },
    cancel(id) {
      if (waiting.delete(id)) arm();
    },
    takeDue() {
      const next = earliest();
      if (!next || next.at > clock.monotonic()) return undefined;
      popTop(heap);
      waiting.delete(next.id);
      arm();
      return next;
    },
    close() {
      closed = true;
      arm();
    },
  };
}

function before(a: Transition<unknown>, b: Transition<unknown>): boolean {
  return a.at < b.at || (a.at === b.at && a.order < b.order);
}

function push<To>(heap: Transition<To>[], step: Transition<To>): void {
  let child = heap.push(step) - 1;
  while (child > 0) {
    const parent = (child - 1) >> 1;
    if (!before(step, heap[parent]!)) break;
    heap[child] = heap[parent]!;
    child = parent;
  }
  heap[child] = step;
}

function popTop<To>(heap: Transition<To>[]): void {
  const last = heap.pop();
  if (!last || heap.length === 0) return;
  let parent = 0;
  for (let child = 1; child < heap.length; child = parent * 2 + 1) {
    if (child + 1 < heap.length && before(heap[child + 1]!, heap[child]!)) child += 1;
    if (!before(heap[child]!, last)) break;
    heap[parent] = heap[child]!;
    parent = child;
  }
  heap[parent] = last;
}
