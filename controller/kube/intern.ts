/**
 * Returns one shared string for all equal ones: 5,000 Nodes have few zones and types, but JSON.parse creates a new
 * string for each. Bounded: when full it starts over, which only costs memory.
 */
export function createInterner(capacity = 20_000): (text: string) => string {
  const pool = new Map<string, string>();
  return (text) => {
    const before = pool.get(text);
    if (before !== undefined) return before;
    if (pool.size >= capacity) pool.clear();
    pool.set(text, text);
    return text;
  };
}
