export type Locks = ReturnType<typeof createLocks>;

/** One change at a time in each container that locks itself. */
export function createLocks() {
  const tails = new Map<string, Promise<void>>();
  return {
    /** Resolves when all earlier holders have released the lock, with the function that releases it. */
    async acquire(name: string): Promise<() => void> {
      const before = tails.get(name);
      const { promise, resolve } = Promise.withResolvers<void>();
      tails.set(name, promise);
      await before;
      return () => {
        resolve();
        if (tails.get(name) === promise) tails.delete(name);
      };
    },
  };
}
