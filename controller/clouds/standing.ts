import { type Found, nameOf, type Want } from '../engine/resource.ts';

/** As it is. Pure. */
export function asItStands({ kind, key = '' }: Pick<Found, 'kind' | 'key'>): Want {
  return { kind, key, leaveUnchanged: true, spec: undefined, summary: `${kind} ${key}` };
}

/** Everything that a Service has, as it is. Pure. @param main of its load balancer, which may not exist */
export function allAsItStands(main: Want, own: readonly Found[]): readonly Want[] {
  const parts = own.filter((one) => nameOf(one) !== nameOf(main));
  return [{ ...main, leaveUnchanged: true }, ...parts.map(asItStands)];
}
