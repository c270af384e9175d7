/**
 * Changes come before routine work: `high` is for work that a person or a dying machine waits for, `low` for resyncs.
 */
export type Priority = 'high' | 'normal' | 'low';

const ranks: Readonly<Record<Priority, number>> = { high: 0, normal: 1, low: 2 };
/**
 * After this many consecutive keys that overtook keys of lower priority, one of those goes first: low priority delays
 * work, but never starves it.
 */
const overtakesInARow = 16;

export interface QueuedKey {
  readonly key: string;
  readonly priority: Priority;
  /** When it became or becomes due. */
  readonly dueAt: number;
}

/** The waiting keys, each at most once, due now or later. Does no I/O; the caller chooses the unit of time. */
export interface KeyQueue {
  /** Adds a key. If it waits already, the earlier time and the higher priority win. */
  add(key: string, dueAt: number, priority: Priority): void;
  /** Removes and returns the first due key: by priority, then by due time. */
  take(now: number): QueuedKey | undefined;
  /** When the next key that is not due yet becomes due. */
  nextDueAt(now: number): number | undefined;
  /** The number of due keys. */
  due(now: number): number;
  /** The number of waiting keys. */
  readonly size: number;
}

interface Item {
  readonly key: string;
  priority: Priority;
  dueAt: number;
  order: number;
  ready: boolean;
  /** Heap entries with another stamp are stale. */
  stamp: number;
}

interface Slot {
  readonly item: Item;
  readonly stamp: number;
  readonly dueAt: number;
  readonly order: number;
}

/** All operations are O(log n): binary heaps in which a moved key leaves a stale entry. */
export function createKeyQueue(): KeyQueue {
  const items = new Map<string, Item>();
  const later = createHeap();
  const ready = [createHeap(), createHeap(), createHeap()];
  const readyCount = [0, 0, 0];
  let counter = 0;
  let overtaken = 0;

  function place(item: Item): void {
    item.stamp += 1;
    const slot = { item, stamp: item.stamp, dueAt: item.dueAt, order: item.order };
    const rank = ranks[item.priority];
    if (item.ready) readyCount[rank]! += 1;
    (item.ready ? ready[rank]! : later).push(slot);
  }

  function lift(item: Item): void {
    if (item.ready) readyCount[ranks[item.priority]]! -= 1;
  }

  function promote(now: number): void {
    for (let slot = later.peek(); slot; slot = later.peek()) {
      if (slot.stamp === slot.item.stamp && slot.dueAt > now) return;
      later.pop();
      if (slot.stamp !== slot.item.stamp) continue;
      slot.item.ready = true;
      place(slot.item);
    }
  }

  function rankToTake(): number {
    const first = readyCount.findIndex((count) => count > 0);
    if (first < 0) return -1;
    const lower = readyCount.findIndex((count, rank) => rank > first && count > 0);
    if (lower < 0) {
      overtaken = 0;
      return first;
    }
    overtaken = (overtaken + 1) % (2 * (overtakesInARow + 1));
    // In turn the next lower one and the lowest.
    if (overtaken === 0) return readyCount.findLastIndex((count) => count > 0);
    return overtaken === overtakesInARow + 1 ? lower : first;
  }

  return {
    add(key, dueAt, priority) {
      const queued = items.get(key);
      if (!queued) {
        counter += 1;
        const item: Item = { key, priority, dueAt, order: counter, ready: false, stamp: 0 };
        items.set(key, item);
        return place(item);
      }
      const raised = ranks[priority] < ranks[queued.priority];
      if (!raised && dueAt >= queued.dueAt) return;
      lift(queued);
      if (raised) queued.priority = priority;
      queued.dueAt = Math.min(queued.dueAt, dueAt);
      place(queued);
    },
    take(now) {
      promote(now);
      const rank = rankToTake();
      if (rank < 0) return undefined;
      for (;;) {
        const slot = ready[rank]!.pop()!;
        if (slot.stamp !== slot.item.stamp) continue;
        lift(slot.item);
        // Invalidates all heap entries of this item, in case the same key is added again.
        slot.item.stamp += 1;
        items.delete(slot.item.key);
        return { key: slot.item.key, priority: slot.item.priority, dueAt: slot.item.dueAt };
      }
    },
    nextDueAt(now) {
      promote(now);
      return later.peek()?.dueAt;
    },
    due(now) {
      promote(now);
      return readyCount[0]! + readyCount[1]! + readyCount[2]!;
    },
    get size() {
      return items.size;
    },
  };
}

function before(a: Slot, b: Slot): boolean {
  return a.dueAt < b.dueAt || (a.dueAt === b.dueAt && a.order < b.order);
}

/** Drops stale entries when they may outnumber the valid ones. */
function createHeap(): { push(slot: Slot): void; peek(): Slot | undefined; pop(): Slot | undefined } {
  let slots: Slot[] = [];
  let nextSweep = 64;

  function insert(slot: Slot): void {
    let at = slots.length;
    slots.push(slot);
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (!before(slot, slots[parent]!)) break;
      slots[at] = slots[parent]!;
      at = parent;
    }
    slots[at] = slot;
  }

  return {
    push(slot) {
      if (slots.length >= nextSweep) {
        const valid = slots.filter((kept) => kept.stamp === kept.item.stamp);
        slots = [];
        for (const kept of valid) insert(kept);
        nextSweep = Math.max(64, 2 * valid.length);
      }
      insert(slot);
    },
    peek: () => slots[0],
    pop() {
      const top = slots[0];
      const last = slots.pop();
      if (top === undefined || last === undefined || slots.length === 0) return top;
      let at = 0;
      for (;;) {
        let child = 2 * at + 1;
        if (child >= slots.length) break;
        if (child + 1 < slots.length && before(slots[child + 1]!, slots[child]!)) child += 1;
        if (!before(slots[child]!, last)) break;
        slots[at] = slots[child]!;
        at = child;
      }
      slots[at] = last;
      return top;
    },
  };
}
