/**
 * Whether version `a` is older than `b`. Since 1.35 Kubernetes guarantees that versions of one resource compare as
 * numbers; earlier servers behave the same. A version that is no number never counts as older, so nothing waits for it.
 */
export function isOlder(a: string, b: string): boolean {
  if (!/^\d+$/.test(a) || !/^\d+$/.test(b)) return false;
  return a.length === b.length ? a < b : a.length < b.length;
}
