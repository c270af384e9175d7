import type { NodeTags } from '../../clouds/node-tags.ts';
import type { CallGuard } from './call-guard.ts';

/** Tags of a module's instances behind the guard: it gets copies, and each call ends. */
export function guardNodeTags(nodeTags: NodeTags, guard: CallGuard): NodeTags {
  for (const name of ['expected', 'set', 'remove'] as const)
    if (typeof nodeTags[name] !== 'function')
      throw new Error(`nodeTags.${name}: ${typeof nodeTags[name]}, expected a function`);
  const { batchSize } = nodeTags;
  if (!Number.isSafeInteger(batchSize) || batchSize < 1)
    throw new Error(`nodeTags.batchSize: ${JSON.stringify(batchSize)}, expected a whole number of at least 1`);
  const calls = { set: 'set tags', remove: 'remove tags' } as const;
  const guarded =
    (name: keyof typeof calls): NodeTags['set'] =>
    (instances, tags, options) =>
      guard.call(calls[name], options.signal, async (signal) => {
        const permit = guard.passing(options.permit);
        await nodeTags[name]([...instances], { ...tags }, { ...options, permit, signal });
      });
  return {
    batchSize,
    expected(key, value) {
      const expected: unknown = guard.pure('check a tag', () => nodeTags.expected(key, value));
      return expected === undefined ? undefined : String(expected);
    },
    set: guarded('set'),
    remove: guarded('remove'),
  };
}
