import type { Basics } from './basics.ts';
import { everyService, type Found, identityOf, nameOf, type Owner, type ResourceName, type Want } from './resource.ts';

export type Shared = ReturnType<typeof createShared>;

/**
 * The desired specs of shared resources, of all Services together.
 *
 * @param allServicesDeclared whether every live Service was declared, with a readable spec, in this process
 */
export function createShared({ kinds, found }: Pick<Basics, 'kinds' | 'found'>, allServicesDeclared: () => boolean) {
  const specs = new Map<ResourceName, Map<string, unknown>>();
  /** By Service. */
  const declared = new Map<string, readonly Want[]>();

  const isDesired = (name: ResourceName) => (specs.get(name)?.size ?? 0) > 0;
  const isShared = ({ kind }: Found | Want) => kinds.get(kind)?.merge !== undefined;
  const liveNamesakes = (one: Found | Want) =>
    found.ofKind(one.kind).filter((other) => nameOf(other) === nameOf(one) && other.status !== 'deleting');

  return {
    /** Everything that an owner desires now; nothing = its removal. */
    declare({ service }: Owner, wants: readonly Want[]): void {
      const own = wants.filter(isShared);
      if (own.length > 0) declared.set(service, own);
      else declared.delete(service);
      const names = new Set(own.map(nameOf));
      for (const [name, of] of specs) {
        if (!names.has(name) && of.delete(service) && of.size === 0) specs.delete(name);
      }
      for (const want of own) {
        const of = specs.get(nameOf(want)) ?? new Map<string, unknown>();
        specs.set(nameOf(want), of.set(service, want.spec));
      }
    },
    /** What this owner declared last. */
    declared: ({ service }: Owner): readonly Want[] => declared.get(service) ?? [],
    /** The union of what all Services desire; no part of `existing` is left out until every Service is declared. */
    specOf(want: Want, existing: Found | undefined): unknown {
      const { merge } = kinds.get(want.kind) ?? {};
      if (merge === undefined) return want.spec;
      const all = [...(specs.get(nameOf(want))?.values() ?? [want.spec])];
      return merge(all, allServicesDeclared() ? undefined : existing);
    },
    isDesired,
    /** @param removed the owner that is being removed */
    mayDrop(one: Found, removed?: Owner): 'yes' | 'no' | 'later' {
      if (one.owner !== undefined && one.owner.service !== everyService) return 'yes';
      if (isDesired(nameOf(one))) return 'no';
      const { usedBy } = kinds.get(one.kind) ?? {};
      if (usedBy === undefined) return allServicesDeclared() ? 'yes' : 'later';
      const users = usedBy(one);
      if (users === undefined) return removed !== undefined || allServicesDeclared() ? 'yes' : 'no';
      return users.every((user) => user === removed?.service) ? 'yes' : 'no';
    },
    /** Asked right before a removal is sent: whether the resource is gone, or a Service desires it since the plan. */
    mustStay(one: Found): boolean {
      if (found.get(identityOf(one)) === undefined) return true;
      return isShared(one) && isDesired(nameOf(one)) && liveNamesakes(one).length < 2;
    },
    /** Asked right before a create is sent: the shared resource, where another Service has created it meanwhile. */
    existing: (want: Want) =>
      isShared(want) ? liveNamesakes(want).find(({ owner }) => owner !== undefined) : undefined,
  };
}
