import type { Mutant } from './mutant.ts';

/** Breaks of election, fencing, pauses, caches and everything about Nodes. */
export const nodeMutants: readonly Mutant[] = [
  {
    name: 'delete on one absence',
    edits: [['controller/nodes/deletion-decision.ts', 'if (confirmed > 0) return', 'if (confirmed > 1e9) return']],
  },
  {
    name: 'second answer after five seconds',
    edits: [['controller/nodes/deletion-decision.ts', 'secondAnswerMs = 15_000', 'secondAnswerMs = 5_000']],
  },
  {
    name: 'second answer without a canary after 15 s',
    edits: [
      [
        'controller/nodes/deletion-decision.ts',
        'secondAnswerWithoutCanaryMs = 5 * 60_000',
        'secondAnswerWithoutCanaryMs = 15_000',
      ],
    ],
  },
  {
    name: 'no UID precondition',
    edits: [
      [
        'controller/nodes/delete-node.ts',
        'preconditions: { uid: node.uid, resourceVersion: node.resourceVersion }',
        'preconditions: { resourceVersion: node.resourceVersion }',
      ],
    ],
  },
  {
    name: 'no resourceVersion precondition',
    edits: [
      [
        'controller/nodes/delete-node.ts',
        'preconditions: { uid: node.uid, resourceVersion: node.resourceVersion }',
        'preconditions: { uid: node.uid }',
      ],
    ],
  },
  {
    name: 'canary ignored',
    edits: [
      [
        'controller/model/canaries.ts',
        "if (lookup?.state === 'found' && lookup.request === 'id') return 'found';",
        "if (lookup !== undefined) return 'found';",
      ],
    ],
  },
  {
    name: 'total absence believed',
    edits: [
      [
        'controller/nodes/deletion-decision.ts',
        "return canary === 'not-found' || (canary === 'none' && !hasSeenInstance);",
        "return canary === 'not-found' && hasSeenInstance && released;",
      ],
    ],
  },
  {
    name: 'silence that is the same for every lease',
    edits: [
      ['controller/nodes/silence.ts', 'isValid ? leaseDurationSeconds * 1000 : defaultMs', 'told ? minMs : defaultMs'],
    ],
  },
  {
    name: 'sign of life ignored: how long it is ago',
    edits: [
      [
        'controller/nodes/deletion-decision.ts',
        'if (at.sinceLifeMs < at.silence.lifeMs) return',
        'if (at.sinceLifeMs < 0) return',
      ],
    ],
  },
  {
    name: 'sign of life ignored: the lease',
    edits: [
      [
        'controller/nodes/examine.ts',
        'const sinceLifeMs = Math.min(sinceLeaseMs, reportAgeMs);',
        'const sinceLifeMs = reportAgeMs;',
      ],
      [
        'controller/nodes/deletion-decision.ts',
        'if (at.leaseUnchangedMs < at.silence.leaseMs)',
        'if (at.leaseUnchangedMs < 0)',
      ],
    ],
  },
  {
    name: 'sign of life ignored: reports',
    edits: [
      [
        'controller/nodes/examine.ts',
        'const sinceLifeMs = Math.min(sinceLeaseMs, reportAgeMs);',
        'const sinceLifeMs = sinceLeaseMs;',
      ],
    ],
  },
  {
    name: 'Ready ignored for the absent',
    edits: [
      [
        'controller/nodes/deletion-decision.ts',
        "if (at.ready) return wait('SignOfLife'",
        "if (false) return wait('SignOfLife'",
      ],
    ],
  },
  {
    name: 'no age needed',
    edits: [['controller/nodes/deletion-decision.ts', 'at.nodeAgeMs < minimumAgeMs', 'at.nodeAgeMs < 0']],
  },
  {
    name: 'no record of scope needed',
    edits: [['controller/nodes/deletion-decision.ts', 'if (!isOfScope) return', 'if (false) return']],
  },
  {
    name: 'answers told apart by when their pass ended',
    edits: [
      [
        'controller/nodes/lifecycle.ts',
        'examine(context, suspect, lookup, scope, visibility, askedMs)',
        'examine(context, suspect, lookup, scope, visibility, Math.max(askedMs, clock.monotonic()))',
      ],
    ],
  },
  {
    name: 'a Node opened before its routes',
    edits: [
      [
        'controller/nodes/write-node.ts',
        'routesEnabled?.(resolved.scope, node) ?? false',
        'routesEnabled === undefined',
      ],
    ],
  },
  {
    name: 'budget ignored',
    edits: [
      [
        'controller/model/budget-keeper.ts',
        'const granted = Math.min(requested, room(limit, kind, ownedNodes, ledger, now));',
        'const granted = requested;',
      ],
    ],
  },
  {
    name: 'budget not written down',
    edits: [
      [
        'controller/model/budget-keeper.ts',
        'await leadership.annotate({ [annotations.deletionLedger]: next });',
        'void next;',
      ],
    ],
  },
  {
    name: 'an error is an absence',
    edits: [
      [
        'controller/clouds/not-found.ts',
        "if (isCloudError(error) && error.kind === 'NotFound') return undefined;",
        'if (isCloudError(error)) return undefined;',
      ],
    ],
  },
  {
    name: 'what a list leaves out is absent',
    edits: [
      [
        'controller/clouds/lookup-pass.ts',
        'for (const [id, proof] of await ask(missing.slice(0, maxAbsenceProofs), reader.get)) answers.set(id, proof);',
        "for (const id of missing) answers.set(id, { state: 'absent' });",
      ],
    ],
  },
  {
    name: 'no fencing',
    edits: [['controller/kube/write-api.ts', 'const fenced = fencedApi(api, leadership);', 'const fenced = api;']],
  },
  {
    name: 'lease time counted by clocks that sleep',
    edits: [
      [
        'controller/kube/elector.ts',
        "leaseDurationMs - marginMs - elapsedMs(clock, term.renewedAt, 'any');",
        'leaseDurationMs - marginMs - (clock.monotonic() - term.renewedAt.monotonic);',
      ],
    ],
  },
  {
    name: 'a held lease is taken',
    edits: [['controller/kube/elector.ts', 'return !heldByOther();', 'return true;']],
  },
  {
    name: 'taint before addresses',
    edits: [
      [
        'controller/nodes/patches.ts',
        'desired.addresses !== undefined && !sameAddresses(',
        'desired.addresses !== undefined && !isUninitialized(node) && !sameAddresses(',
      ],
    ],
  },
  {
    name: 'taint before providerID',
    edits: [
      [
        'controller/nodes/patches.ts',
        '...(desired.providerID === undefined ? {}',
        '...(desired.providerID === undefined || untaint ? {}',
      ],
    ],
  },
  {
    name: 'main patch without resourceVersion',
    edits: [
      [
        'controller/nodes/patches.ts',
        'return { metadata: { resourceVersion, ...metadata }, ',
        'return { metadata: { ...metadata, ...(resourceVersion ? {} : {}) }, ',
      ],
    ],
  },
  {
    name: 'report from another node believed',
    edits: [
      [
        'controller/nodes/node-context.ts',
        'return stored?.nodeUid === node.uid ? stored : undefined;',
        'return stored;',
      ],
      [
        'controller/reports/store.ts',
        'reports.set(nodeName, stored);',
        'reports.set(report.instance?.name ?? nodeName, stored);',
      ],
    ],
  },
  {
    name: 'report of an earlier term believed',
    edits: [['controller/nodes/node-task.ts', '      reports.outdate();', 'void reports;']],
  },
  {
    name: 'contradicted identity written',
    edits: [
      [
        'controller/nodes/write-node.ts',
        'const contradicted = contradiction(node, resolved.instance, resolved.report, attested, acceptsRebuild);',
        'const contradicted = contradiction(node, resolved.instance, resolved.report) && undefined;',
      ],
    ],
  },
  {
    name: 'addresses shrunk by one answer',
    edits: [
      ['controller/nodes/address-removals.ts', 'if (readAtMs - firstAt >= secondReadMs || ', 'if (readAtMs >= 0 || '],
    ],
  },
  {
    name: 'pause of everything ignored',
    edits: [
      [
        'controller/runtime/pause.ts',
        'const paused = () => informer.get(key)?.all === true;',
        'const paused = () => false;',
      ],
    ],
  },
  {
    name: 'pause of a Node ignored',
    edits: [
      [
        'controller/model/node-view.ts',
        'return isPauseValue(node.annotations[annotationKeys.paused]);',
        'return isPauseValue(undefined) && node.deleting;',
      ],
    ],
  },
  {
    name: 'foreign Node written to',
    edits: [['controller/model/ownership.ts', 'if (clouds.size === 0)\n', 'if (clouds.size < 0)\n']],
  },
  {
    name: 'decisions from an unsynced cache',
    edits: [
      [
        'controller/nodes/node-task.ts',
        'await Promise.race([nodes.whenSynced(), untilAborted(signal)]);',
        'await Promise.resolve();',
      ],
    ],
  },
  {
    name: "a person's type overwritten",
    edits: [
      [
        'controller/nodes/desired-node.ts',
        'const setByPerson = !joining &&',
        'const setByPerson = false && !joining &&',
      ],
    ],
  },
  {
    name: 'shutdown taint while still running down',
    edits: [
      [
        'controller/nodes/lifecycle.ts',
        "if (lookup.state === 'found' && !isOff(lookup.power)) return foundAlive",
        "if (lookup.state === 'found' && lookup.power === 'running') return foundAlive",
      ],
    ],
  },
  {
    name: 'shutdown taint never taken back',
    edits: [
      [
        'controller/nodes/apply-findings.ts',
        'const untainted = await taint(node, { shutdown: false, outOfService: false });',
        'const untainted: NodeView | undefined = node;',
      ],
    ],
  },
  {
    name: 'a failed key is not repeated',
    edits: [
      [
        'controller/runtime/work-queue.ts',
        "queue.add(key, now + delay, run.priority === 'high' ? 'normal' : run.priority);",
        'void delay;',
      ],
    ],
  },
  {
    name: 'lost history is not listed again',
    edits: [['controller/kube/list-watch.ts', "why = 'expired';", 'why = undefined;']],
  },
  {
    name: 'what a new list leaves out stays in the cache',
    edits: [
      [
        'controller/kube/object-cache.ts',
        'for (const [key, entry] of entries) if (entry.generation !== generation) drop(key, entry);',
        'void drop;',
      ],
    ],
  },
  {
    name: 'waits without a reason',
    edits: [
      [
        'controller/nodes/wait.ts',
        '        await writeReason(node, reason, message);\n',
        '        void writeReason;\n',
      ],
    ],
  },
];
