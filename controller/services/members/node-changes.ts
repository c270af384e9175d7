import type { Clock } from '../../../common/process/clock.ts';
import type { Informer, InformerEvent } from '../../kube/informer.ts';
import type { ConfiguredCloud } from '../../model/configured-cloud.ts';
import type { NodeView } from '../../model/node-view.ts';
import { deletionNoteMs } from '../../nodes/expected-termination.ts';
import { type Eligibility, eligibilityOf, sameEligibility } from './facts.ts';
import type { NodeChanges } from './membership.ts';

/** Collects the changes in the eligibility of Nodes between two batches. */
export interface NodeChangeCollector {
  /** Returns whether the event changes anything. */
  observe(event: InformerEvent<NodeView>): boolean;
  /** Services choose members by these labels. Returns whether one of them is new; then all Nodes were read again. */
  chooseBy(labels: readonly string[]): boolean;
  /** We are about to delete this Node, because its VM is proved gone. */
  noteDeletion(node: NodeView): void;
  /** Ends the batch. */
  take(): NodeChanges;
}

export function collectNodeChanges(
  nodes: Informer<NodeView>,
  clouds: readonly ConfiguredCloud[],
  clock: Clock,
): NodeChangeCollector {
  /** By name of the Node. */
  const eligibilities = new Map<string, Eligibility>();
  /** By instance: the last eligibility of Nodes that were deleted in this batch. */
  let last = new Map<string, Eligibility>();
  /** By instance: until when a deletion of ours explains that the Node is gone. */
  const deletions = new Map<string, number>();
  const chosenBy = new Set<string>();
  const readAll = () => {
    for (const node of nodes.values()) eligibilities.set(node.name, eligibilityOf(node, clouds, chosenBy));
  };
  readAll();

  return {
    observe(event) {
      if (event.type === 'deleted') {
        // From the deleted object, because one event may bring a mark and the deletion.
        const before = eligibilityOf(event.old, clouds, chosenBy);
        if (before.kind !== 'none') last.set(before.facts.instance, before);
        eligibilities.delete(event.key);
        return true;
      }
      const now = eligibilityOf(event.object, clouds, chosenBy);
      if (sameEligibility(eligibilities.get(event.key), now)) return false;
      eligibilities.set(event.key, now);
      return true;
    },
    chooseBy(labels) {
      const added = labels.filter((label) => !chosenBy.has(label));
      if (added.length === 0) return false;
      for (const label of added) chosenBy.add(label);
      readAll();
      return true;
    },
    noteDeletion(node) {
      const before = eligibilityOf(node, clouds);
      if (before.kind !== 'none') deletions.set(before.facts.instance, clock.monotonic() + deletionNoteMs);
    },
    take() {
      const now = clock.monotonic();
      for (const [instance, untilMs] of deletions) if (untilMs <= now) deletions.delete(instance);
      const deleted = new Set(deletions.keys());
      const ended = last;
      last = new Map();
      for (const instance of ended.keys()) deletions.delete(instance);
      return {
        eligibilities: eligibilities.values(),
        last: ended,
        deletedByUs: (instance) => deleted.has(instance),
      };
    },
  };
}
