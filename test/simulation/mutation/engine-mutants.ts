import type { Mutant } from './mutant.ts';

const folder = 'controller/engine';
const reads = [`${folder}/reconcile.test.ts`];
const inventory = [`${folder}/inventory.test.ts`];
const plans = [`${folder}/plan.test.ts`];
const steps = [`${folder}/reconcile-steps.test.ts`];
const sharing = [`${folder}/reconcile-shared.test.ts`];

/** Breaks of the rules by which the engine reads, records, orders, sends and shares. */
export const engineMutants: readonly Mutant[] = [
  {
    name: 'engine: the answer to a call is no read',
    by: reads,
    edits: [
      [
        `${folder}/sender.ts`,
        'if (answer.found !== undefined) inventory.note(answer.found);',
        'if (answer.found !== undefined) inventory.invalidate(owner);',
      ],
    ],
  },
  {
    name: 'engine: deletes because of an old read',
    by: reads,
    edits: [[`${folder}/reconcile.ts`, 'nowMs() - inventory.readAtMs(owner) > maxProofAgeMs', 'false']],
  },
  {
    name: 'engine: a call of unclear outcome does not make the owner stale',
    by: reads,
    edits: [[`${folder}/run.ts`, 'if (isUncertain(error)) inventory.invalidate(owner);', '']],
  },
  {
    name: 'engine: a read that began before the call ends staleness',
    by: inventory,
    edits: [[`${folder}/inventory.ts`, 'if (since <= began.order && isRead)', 'if (isRead)']],
  },
  {
    name: 'engine: no search by marks after an error',
    by: reads,
    edits: [[`${folder}/reconcile.ts`, 'if (errors.length > 0) observed.searchNext(owner);', '']],
  },
  {
    name: 'engine: recorded ids are not asked for',
    by: reads,
    edits: [
      [
        `${folder}/observed-state.ts`,
        'for (const [name, id] of Object.entries(journal.state.ids)) add(kindOf(name), id);',
        '',
      ],
    ],
  },
  {
    name: 'engine: details are not read again when their version moved',
    by: inventory,
    edits: [
      [
        `${folder}/details.ts`,
        'if (last === undefined || last.version !== container.version) return true;',
        'if (last === undefined) return true;',
      ],
    ],
  },
  {
    name: 'engine: all details are read with every audit',
    by: inventory,
    edits: [[`${folder}/details.ts`, 'return nowMs - last.atMs >= ', 'return nowMs - last.atMs >= 0 * ']],
  },
  {
    name: 'engine: the first claim of a Service is searched for',
    by: reads,
    edits: [
      [`${folder}/observed-state.ts`, 'recorded.length === 0 && !journal.isFirstClaim;', 'recorded.length === 0;'],
    ],
  },
  {
    name: 'engine: creates are sent without a record of the intent',
    by: reads,
    edits: [[`${folder}/records.ts`, 'journal.intend(creates.map(({ name }) => name));', 'journal.intend([]);']],
  },
  {
    name: 'engine: ids are saved after the next read',
    by: reads,
    edits: [
      [`${folder}/reconcile.ts`, '        // Before any read that could fail.\n        await journal.save();\n', ''],
    ],
  },
  {
    name: 'engine: a deleted id stays in the record',
    by: reads,
    edits: [[`${folder}/sender.ts`, '    journal.gone(found.kind, found.id);\n', '']],
  },
  {
    name: 'engine: settle time counts from the decision',
    by: inventory,
    edits: [[`${folder}/journal.ts`, 'searchedAtMs >= since + settleMs)', 'nowMs() >= since + settleMs)']],
  },
  {
    name: 'engine: a resource waits for all of the kinds that it needs',
    by: steps,
    edits: [
      [
        `${folder}/plan.ts`,
        'if (createStep !== undefined) graph.require(step, createStep);\n      for (const changeStep',
        "for (const [name, other] of createSteps)\n        if (name.split('/')[0] === need.split('/')[0]) " +
          'graph.require(step, other);\n      for (const changeStep',
      ],
    ],
  },
  {
    name: 'engine: compares a reference by id',
    by: steps,
    edits: [[`${folder}/decide.ts`, '(nameOfId.get(identityOf(ref)) ?? [])', '[ref.id]']],
  },
  {
    name: 'engine: makes first what can only be made after its deletion',
    by: plans,
    edits: [
      [
        `${folder}/removals.ts`,
        'if (graph.waitsFor(createStep, deleteStep)) breakFirst(createStep, deleteStep);',
        'if (false) {}',
      ],
    ],
  },
  {
    name: 'engine: the old target goes although the update of its referrer failed',
    by: steps,
    edits: [
      [
        `${folder}/removals.ts`,
        'if (step !== deleteStep && !graph.waitsFor(step, deleteStep)) graph.require(deleteStep, step);',
        '{}',
      ],
    ],
  },
  {
    name: 'engine: what another cluster has marked for a Service is its own',
    by: plans,
    edits: [[`${folder}/owner.ts`, '    one.owner.cluster === owner.cluster &&\n', '']],
  },
  {
    name: 'engine: whatever is marked is its own',
    by: plans,
    edits: [
      [
        `${folder}/owner.ts`,
        'if (one.owner !== undefined) return marked(one);',
        'if (one.owner !== undefined) return true;',
      ],
    ],
  },
  {
    name: 'engine: deletes a part beside its container',
    by: plans,
    edits: [[`${folder}/removals.ts`, 'if (container === undefined || retain) return false;', 'return false;']],
  },
  {
    name: 'engine: frees a slot before anything else',
    by: steps,
    edits: [[`${folder}/removals.ts`, 'for (const step of planned) graph.prefer(deleteStep, step);', '']],
  },
  {
    name: 'engine: what proves ownership goes first',
    by: plans,
    edits: [[`${folder}/match.ts`, 'if (ref.loose && !ref.proof) continue;', 'if (ref.loose) continue;']],
  },
  {
    name: 'engine: resources that need each other in a circle are planned',
    by: plans,
    edits: [
      [
        `${folder}/order.ts`,
        "if (state.get(name) === 'open') throw new",
        "if (state.get(name) === 'open') return void new",
      ],
    ],
  },
  {
    name: 'engine: a loose reference is broken, too',
    by: plans,
    edits: [[`${folder}/decide.ts`, '(ref) => !ref.loose && broken.has(', '(ref) => broken.has(']],
  },
  {
    name: 'engine: shrinks although nothing has grown',
    by: steps,
    edits: [[`${folder}/plan.ts`, "(one.phase === 'shrink' && other.phase === 'grow')", 'one === other']],
  },
  {
    name: 'engine: a lock is let go before its operation has ended',
    by: steps,
    edits: [[`${folder}/run.ts`, 'end.then(release, release);', 'release();']],
  },
  {
    name: 'engine: creates the parts of a container one by one',
    by: plans,
    edits: [[`${folder}/plan.ts`, 'if (!kind.inline || ', 'if (true || ']],
  },
  {
    name: 'engine: an operation keeps the worker',
    by: steps,
    edits: [[`${folder}/reconcile.ts`, 'deadlineOf(clock, budgetMs)', 'deadlineOf(clock, 240 * budgetMs)']],
  },
  {
    name: 'engine: the next leader does not wait for the operation that it finds',
    by: steps,
    edits: [[`${folder}/reconcile.ts`, 'plan.waits.flatMap((wait) => wait.operation ?? [])', '[] as string[]']],
  },
  {
    name: 'engine: polls one operation at a time',
    by: inventory,
    edits: [
      [
        `${folder}/operations.ts`,
        '.filter(([, { dueMs }]) => dueMs <= nowMs() + sharedPollMs);',
        '.filter(([, { dueMs }]) => dueMs <= nowMs() + sharedPollMs).slice(0, 1);',
      ],
    ],
  },
  {
    name: 'engine: looks before it creates',
    by: reads,
    edits: [
      [
        `${folder}/reconcile.ts`,
        '        recordIntent(core, plan, journal);\n',
        "        if (plan.steps.some((step) => step.do === 'create'))\n          await observed.find(owner, " +
          'journal, { ids: [], slots: [], removing: false });\n        recordIntent(core, plan, journal);\n',
      ],
    ],
  },
  {
    name: 'engine: never gives up against the lock of another',
    by: steps,
    edits: [[`${folder}/run.ts`, 'const busyTries = 2;', 'const busyTries = 8;']],
  },
  {
    name: 'engine: repeats for ever what has no effect',
    by: [`${folder}/ineffective-calls.test.ts`],
    edits: [[`${folder}/ineffective-calls.ts`, 'const maxTimes = 3;', 'const maxTimes = 3000;']],
  },
  {
    name: 'engine: counts as removed what a delete without effect has left',
    by: [`${folder}/ineffective-calls.test.ts`],
    edits: [[`${folder}/reconcile.ts`, '        provedGone = false;\n', '']],
  },
  {
    name: 'engine: shrinks a shared resource before all Services are declared',
    by: sharing,
    edits: [
      [`${folder}/shared.ts`, 'merge(all, allServicesDeclared() ? undefined : existing)', 'merge(all, undefined)'],
    ],
  },
  {
    name: 'engine: writes the union of the plan instead of the current one',
    by: sharing,
    edits: [
      [
        `${folder}/sender.ts`,
        'return shared.specOf(put, kinds.get(put.kind)?.merge === undefined ? undefined : existingOf(put));',
        'return put.spec;',
      ],
    ],
  },
  {
    name: 'engine: one refused edit spoils the write of all',
    by: sharing,
    edits: [[`${folder}/queue.ts`, 'if (keys.length > 1 && (', 'if (keys.length > 99 && (']],
  },
  {
    name: 'engine: looks for a refused edit one by one',
    by: sharing,
    edits: [[`${folder}/queue.ts`, 'keys.slice(0, keys.length >> 1)', 'keys.slice(0, 1)']],
  },
  {
    name: 'engine: what was refused spoils the next write, too',
    by: sharing,
    edits: [[`${folder}/document.ts`, 'if (isRefusal(error)) refusedServices.add(service);', '']],
  },
  {
    name: 'engine: a lane takes away before it adds',
    by: sharing,
    edits: [[`${folder}/lanes.ts`, 'waiting.find((job) => job.work.want !== undefined) ?? waiting[0]!', 'waiting[0]!']],
  },
  {
    name: 'engine: a removal is not decided again when it is sent',
    by: sharing,
    edits: [
      [
        `${folder}/lanes.ts`,
        'return found !== undefined && shared.mustStay(found) ? {} : undefined;',
        'return undefined;',
      ],
    ],
  },
  {
    name: 'engine: what is being removed still serves',
    by: [`${folder}/sharing.test.ts`],
    edits: [[`${folder}/lanes.ts`, 'for (const found of removed) inventory.setDeleting(found, true);', '']],
  },
  {
    name: 'engine: one owner without a permit stops a lane',
    by: sharing,
    edits: [[`${folder}/queue.ts`, 'if (isCommon) job.permit(0);', '']],
  },
  {
    name: 'engine: what serves goes before what comes instead',
    by: [`${folder}/move.test.ts`],
    edits: [[`${folder}/removals.ts`, 'return root !== found && !decisions.used.has(root);', 'return false;']],
  },
  {
    name: 'engine: deletes what a load balancer without marks uses',
    by: reads,
    edits: [[`${folder}/removals.ts`, 'const user = retain ? undefined :', 'const user = true ? undefined :']],
  },
  {
    name: 'engine: forgets the record while something of ours cannot be deleted',
    by: reads,
    edits: [[`${folder}/records.ts`, 'return isLeft || refusals.some(', 'return refusals.some(']],
  },
  {
    name: 'engine: sends one step after the other',
    by: steps,
    edits: [
      [
        `${folder}/run.ts`,
        'await Promise.all(plan.steps.map(start));',
        'for (const one of plan.steps) await start(one);',
      ],
    ],
  },
];
