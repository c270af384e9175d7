/**
 * The circles of a graph of imports: sets of files of which each leads to each other one, and files that import
 * themselves. Files and circles in the order of their names.
 *
 * @param imports by file; targets that are no key are left out
 */
export function circlesOf(imports: ReadonlyMap<string, readonly string[]>): string[][] {
  const circles: string[][] = [];
  const seen = new Set<string>();
  for (const file of [...imports.keys()].sort()) {
    if (seen.has(file)) continue;
    const ahead = reachedFrom(file, imports);
    if (!ahead.has(file)) continue;
    const circle = [...ahead].filter((other) => reachedFrom(other, imports).has(file)).sort();
    for (const one of circle) seen.add(one);
    circles.push(circle);
  }
  return circles;
}

/** Everything that a file imports, directly or by others; itself only where it is in a circle. */
function reachedFrom(file: string, imports: ReadonlyMap<string, readonly string[]>): Set<string> {
  const reached = new Set<string>();
  const queue = [file];
  for (let next = queue.pop(); next !== undefined; next = queue.pop()) {
    for (const target of imports.get(next) ?? []) {
      if (reached.has(target) || !imports.has(target)) continue;
      reached.add(target);
      queue.push(target);
    }
  }
  return reached;
}
