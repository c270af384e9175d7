/**
 * Whether version `a` is older than `b`. Kubernetes guarantees since 1.35 that versions of one resource compare as numbers; before that every server in use behaved so.
 * A version that is no number is never called older, so nothing waits for it.
 */
export function isOlder(a: string, b: string): boolean {
  if (!/^\d+$/.test(a) || !/^\d+$/.test(b)) return false;
  return a.length === b.length ? a < b : a.length < b.length;
}
