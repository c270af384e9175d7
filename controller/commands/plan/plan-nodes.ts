import { errorFields, silentLog } from '../../../common/process/log.ts';
import type { BudgetKeeper } from '../../model/budget-keeper.ts';
import { conditionOf, instanceMissing, isPaused, isUninitialized, readiness } from '../../model/node-view.ts';
import { ownershipOf } from '../../model/ownership.ts';
import { createLifecycle } from '../../nodes/lifecycle.ts';
import type { NodeContext } from '../../nodes/node-context.ts';
import { createNodeReconciler } from '../../nodes/node-reconciler.ts';
import { refreshInstances } from '../../nodes/refresh.ts';
import { createSemaphore } from '../../runtime/semaphore.ts';
import { describeWrite } from './describe-write.ts';
import type { Plan, PlannedChange } from './planned-change.ts';
import { recordingApi } from './recording-api.ts';

/**
 * Plans the writes of the node task in its first pass: runs the same code as `run` on an API that only records writes.
 * A deletion that needs a second lookup appears as its condition. Needs a synced cache of Nodes; reads the clouds.
 */
export async function planNodes(context: NodeContext, budget: BudgetKeeper): Promise<Plan> {
  const api = recordingApi(context.api);
  const recording: NodeContext = { ...context, api, log: silentLog, events: { emit: () => {} } };
  const writes = createSemaphore(64);
  const reconciler = createNodeReconciler(recording, writes);
  const lifecycle = createLifecycle(recording, {
    periodMs: 1000,
    budget,
    writes,
    outOfServiceTaint: false,
    found: () => {},
  });
  const problems: string[] = [];
  const nodes = [...context.nodes.values()];
  for (const object of nodes) {
    const event = { type: 'added', key: object.name, object } as const;
    reconciler.observe(event);
    // Only Nodes that are not healthy in the cache: a hint for each Node would look up all of them.
    if (readiness(object) !== 'True' || conditionOf(object, instanceMissing)?.status === 'True')
      lifecycle.observe(event);
  }
  await refreshInstances(recording, {
    answered(node, lookup, scope) {
      if (lookup.state === 'found')
        reconciler.instances.put(node.name, {
          uid: node.uid,
          instance: lookup.instance,
          scope,
          readAtMs: context.clock.monotonic(),
        });
      else if (lookup.state === 'gone' || lookup.state === 'absent') lifecycle.hint(node.name);
    },
    undecided: (node) => reconciler.requestLookup(node.name),
    unknown: (node, error) => problems.push(`node ${node.name}: ${error.kind}: ${error.message}`),
  });
  await Promise.all(
    nodes.map((node) =>
      reconciler
        .reconcile(node.name)
        .catch((error: unknown) => problems.push(`node ${node.name}: ${errorFields(error)['error']}`)),
    ),
  );
  await lifecycle.pass();
  const held = nodes.flatMap((node): PlannedChange[] => {
    const object = `node ${node.name}`;
    const waiting = reconciler.waiting.get(node.name);
    const ownership = ownershipOf(node, context.resolver.configured);
    if (ownership.kind === 'foreign' && isUninitialized(node))
      return [{ of: 'kubernetes', object, action: 'hold', what: `it is foreign and never changed: ${ownership.why}` }];
    if (isPaused(node) && ownership.kind !== 'foreign')
      return [
        {
          of: 'kubernetes',
          object,
          action: 'hold',
          what: 'it is paused: it is only deleted once its VM is proved to be gone',
        },
      ];
    if (waiting === undefined) return [];
    if (waiting.reason === 'AwaitingCloud') problems.push(`${object}: ${waiting.message}`);
    return [{ of: 'kubernetes', object, action: 'hold', what: `${waiting.reason}: ${waiting.message}` }];
  });
  return { changes: [...api.writes.map(describeWrite), ...held], problems };
}
