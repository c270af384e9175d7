/** Timers in the order of their time, and of their setting where times are equal. */
export interface TimerHeap {
  /** @returns a function that takes it out; twice does nothing */
  add(at: number, run: () => void): () => void;
  readonly nextAt: number | undefined;
  /** Removes and returns the earliest; undefined when none waits. */
  take(): { readonly at: number; readonly run: () => void } | undefined;
  clear(): void;
}

interface Entry {
  readonly at: number;
  readonly order: number;
  run: (() => void) | undefined;
}

export function timerHeap(): TimerHeap {
  const heap: Entry[] = [];
  let counter = 0;

  /** Drops what was cancelled from the top. */
  function top(): Entry | undefined {
    let first = heap[0];
    while (first !== undefined && first.run === undefined) {
      pop();
      first = heap[0];
    }
    return first;
  }

  function pop(): void {
    const last = heap.pop();
    if (last === undefined || heap.length === 0) return;
    let parent = 0;
    for (let child = 1; child < heap.length; child = parent * 2 + 1) {
      if (child + 1 < heap.length && before(heap[child + 1]!, heap[child]!)) child += 1;
      if (!before(heap[child]!, last)) break;
      heap[parent] = heap[child]!;
      parent = child;
    }
    heap[parent] = last;
  }

  return {
    add(at, run) {
      const entry: Entry = { at, order: counter++, run };
      let child = heap.push(entry) - 1;
      while (child > 0) {
        const parent = (child - 1) >> 1;
        if (!before(entry, heap[parent]!)) break;
        heap[child] = heap[parent]!;
        child = parent;
      }
      heap[child] = entry;
      return () => {
        entry.run = undefined;
      };
    },
    get nextAt() {
      return top()?.at;
    },
    take() {
      const first = top();
      if (first?.run === undefined) return undefined;
      pop();
      const { at, run } = first;
      first.run = undefined;
      return { at, run };
    },
    clear() {
      heap.length = 0;
    },
  };
}

function before(a: Entry, b: Entry): boolean {
  return a.at < b.at || (a.at === b.at && a.order < b.order);
}
