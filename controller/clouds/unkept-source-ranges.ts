import type { Found, Want } from '../engine/resource.ts';

/**
 * What is desired for a Service with source ranges that this load balancer cannot keep: a new listener would be open to
 * everybody, so none is made, and nothing at all where nothing stands. What stands is kept and gets its members. Pure.
 *
 * @param own what this Service has
 * @param listener kind of the listeners
 */
export function withoutNewListeners(wants: readonly Want[], own: readonly Found[], listener: string): readonly Want[] {
  if (own.length === 0) return [];
  const standing = new Set(own.filter(({ kind }) => kind === listener).map(({ key }) => key));
  return wants.filter(({ kind, key }) => kind !== listener || standing.has(key));
}
