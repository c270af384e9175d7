/**
 * Runs the task for all inputs, at most `width` at once. Resolves with the results in order; rejects with the first
 * failure.
 */
export async function inParallel<In, Out>(
  width: number,
  inputs: readonly In[],
  task: (input: In) => Promise<Out>,
): Promise<Out[]> {
  const results: Out[] = new Array(inputs.length);
  let next = 0;
  async function worker(): Promise<void> {
    while (next < inputs.length) {
      const at = next;
      next += 1;
      results[at] = await task(inputs[at]!);
    }
  }
  await Promise.all(Array.from({ length: Math.min(width, inputs.length) }, worker));
  return results;
}

/** Splits the items into slices of at most `size`. */
export function chunks<Item>(items: readonly Item[], size: number): Item[][] {
  const runs: Item[][] = [];
  for (let at = 0; at < items.length; at += size) runs.push(items.slice(at, at + size));
  return runs;
}
