/** Counts the calls that have no answer yet. */
export interface Activity {
  during<T>(work: () => Promise<T>): Promise<T>;
  readonly calls: number;
}

export function createActivity(): Activity {
  let calls = 0;
  return {
    async during(work) {
      calls += 1;
      try {
        return await work();
      } finally {
        calls -= 1;
      }
    },
    get calls() {
      return calls;
    },
  };
}
