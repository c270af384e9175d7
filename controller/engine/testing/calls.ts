import assert from 'node:assert/strict';

export const isRead = (call: string) => /^(list|read)/.test(call);

export const writesOf = (calls: readonly string[]) => calls.filter((call) => !isRead(call));

/** Fails unless the first call of one kind comes before the last of another, and both come. */
export function assertBefore(calls: readonly string[], first: RegExp, second: RegExp): void {
  const [a, b] = [calls.findIndex((call) => first.test(call)), calls.findLastIndex((call) => second.test(call))];
  assert.ok(a >= 0 && b >= 0 && a < b, `${first} before ${second}: ${calls.join(', ')}`);
}
