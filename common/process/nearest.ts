/** The words that a mistyped one may mean: the nearest ones, in which one letter in three may differ. Pure. */
export function nearest(word: string, candidates: Iterable<string>): readonly string[] {
  const near = [...candidates].map((candidate) => ({ candidate, edits: editsBetween(word, candidate) }));
  const fewest = Math.min(...near.map(({ edits }) => edits));
  const allowed = Math.max(1, Math.floor(word.length / 3));
  if (fewest > Math.min(3, allowed)) return [];
  return near.flatMap(({ candidate, edits }) => (edits === fewest ? [candidate] : [])).sort();
}

/** ` (Did you mean a?)`; empty where nothing is near. Pure. @param mark stands before each of them */
export function suggestion(word: string, candidates: Iterable<string>, mark = ''): string {
  const found = nearest(word, candidates).map((candidate) => `${mark}${candidate}`);
  return found.length === 0 ? '' : ` (Did you mean ${found.length > 1 ? 'one of ' : ''}${found.join(', ')}?)`;
}

/** Letters inserted, deleted, replaced or swapped with their neighbour. */
function editsBetween(a: string, b: string): number {
  const rows: number[][] = [Array.from({ length: b.length + 1 }, (_, at) => at)];
  for (let i = 1; i <= a.length; i += 1) {
    const row = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const replaced = rows[i - 1]![j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1);
      row[j] = Math.min(rows[i - 1]![j]! + 1, row[j - 1]! + 1, replaced);
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1])
        row[j] = Math.min(row[j]!, rows[i - 2]![j - 2]! + 1);
    }
    rows.push(row);
  }
  return rows[a.length]![b.length]!;
}
