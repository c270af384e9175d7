/**
 * Whether a key of a tag begins as Mooring's own do on any cloud, or as one that a cloud reserves besides: it says
 * whose a resource is, so no Service may set it. Pure.
 *
 * @param prefixes of keys, in lower case
 */
export function isReservedTag(key: string, prefixes: readonly string[]): boolean {
  const text = key.toLowerCase();
  return ['mooring.dev/', 'mooring.dev-', ...prefixes].some((prefix) => text.startsWith(prefix));
}
