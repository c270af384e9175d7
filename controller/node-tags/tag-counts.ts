import type { MetricsOf } from '../../common/process/metrics.ts';
import type { nodeTagMetrics } from './metrics.ts';
import type { NodeTagReason } from './reasons.ts';

/** Shows how many instances wait for their tags, and why. A reason that was shown goes back to 0. */
export interface TagCounts {
  show(action: 'set' | 'remove', reasons: readonly NodeTagReason[]): void;
  clear(): void;
}

export function createTagCounts(gauge: MetricsOf<typeof nodeTagMetrics>['waiting'], scope: string): TagCounts {
  const shown = new Map<'set' | 'remove', Set<NodeTagReason>>([
    ['set', new Set()],
    ['remove', new Set()],
  ]);

  function show(action: 'set' | 'remove', reasons: readonly NodeTagReason[]): void {
    const known = shown.get(action)!;
    for (const reason of reasons) known.add(reason);
    for (const reason of known) gauge.set({ scope, action, reason }, reasons.filter((each) => each === reason).length);
  }

  return {
    show,
    clear() {
      show('set', []);
      show('remove', []);
    },
  };
}
