/** One change at a time in each container that locks itself. */
export interface Locks {
  /** Resolves when all earlier holders have released the lock, with the function that releases it. */
  acquire(name: string): Promise<() => void>;
}

export function createLocks(): Locks {
  const tails = new Map<string, Promise<void>>();
  return {
    async acquire(name) {
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
