import type { Listener } from './network-load-balancer.ts';

export type Forwards = ReturnType<typeof createForwards>;

/**
 * Where the listeners of each load balancer forward to, by reads and by the answers to our calls. No list shows that,
 * but the list of target groups shows when it is no longer so.
 */
export function createForwards() {
  /** Target groups by listener, by load balancer. */
  const known = new Map<string, Map<string, string>>();
  return {
    /** All listeners of a load balancer. */
    read: (balancer: string, listeners: readonly Pick<Listener, 'arn' | 'group'>[]) =>
      void known.set(balancer, new Map(listeners.map(({ arn, group = '' }) => [arn, group]))),
    /** It was deleted. */
    gone: (balancer: string) => void known.delete(balancer),
    /** A call of ours has made, changed or deleted a listener. `group` undefined: it is gone. */
    answered(balancer: string, listener: string, group: string | undefined): void {
      const its = known.get(balancer) ?? new Map<string, string>();
      if (group === undefined) its.delete(listener);
      else its.set(listener, group);
      known.set(balancer, its);
    },
    /**
     * Another one where its listeners have changed behind us.
     *
     * @param used ARNs of the target groups that forward to it
     */
    version(balancer: string, used: readonly string[]): string | undefined {
      const its = known.get(balancer);
      const groups = new Set(its?.values());
      const isSame = used.length === groups.size && used.every((group) => groups.has(group));
      return its === undefined || isSame ? undefined : [...used].sort().join(' ');
    },
  };
}
