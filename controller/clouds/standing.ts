import { type Found, nameOf, type Want } from '../engine/resource.ts';

/** As it is. What is taken over has no key before its first change. Pure. */
export function asItStands({ kind, key = 'main' }: Pick<Found, 'kind' | 'key'>): Want {
  return { kind, key, leaveUnchanged: true, spec: undefined, summary: `${kind} ${key}` };
}

/** Everything that a Service has, as and where it is. Pure. @param main of its load balancer, which may not exist */
export function allAsItStands(main: Want, own: readonly Found[]): readonly Want[] {
  // Members may have the id of what they are in.
  const containers = own.filter(({ id, within }) => id !== within);
  const names = new Map(containers.map((one) => [one.id, nameOf(asItStands(one))]));
  const parts = own.filter(({ kind }) => kind !== main.kind);
  return [
    { ...main, leaveUnchanged: true },
    ...parts.map((part): Want => {
      const within = names.get(part.within ?? '');
      return { ...asItStands(part), ...(within !== undefined && { within }) };
    }),
  ];
}
