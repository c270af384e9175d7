import type { Mutant } from './mutant.ts';

/** Breaks of permits, Services, members of load balancers, and routes. */
export const networkMutants: readonly Mutant[] = [
  {
    name: 'cloud calls without fencing',
    edits: [
      [
        'controller/runtime/leader-permit.ts',
        'if (leftMs > timeoutMs) return;',
        'if (leftMs > Number.NEGATIVE_INFINITY) return;',
      ],
    ],
  },
  {
    name: 'cloud calls while paused',
    edits: [['controller/runtime/leader-permit.ts', '    if (pause !== false)\n', '    if (pause === 0 as never)\n']],
  },
  {
    name: 'finalizer removed first',
    edits: [
      [
        'controller/services/remove-action.ts',
        "if (plan.steps.length > 0) return { do: 'apply', plan };",
        'return release(situation);',
      ],
    ],
  },
  {
    name: 'load balancer made before the finalizer',
    edits: [
      [
        'controller/services/ensure-action.ts',
        'if (record === undefined || !hasFinalizer(service)) return claimAction(situation, record);',
        'if (record === undefined) return claimAction(situation, record);',
      ],
      ['controller/services/ensure-action.ts', "    change: {\n      finalizer: 'add',\n", '    change: {\n'],
    ],
  },
  {
    name: 'ownership of load balancers not asked for',
    edits: [
      [
        'controller/services/situation.ts',
        'return observed?.owner?.cluster === cluster.uid && observed.owner.service === service.uid;',
        'return observed !== undefined && cluster.uid !== service.uid;',
      ],
      [
        'controller/engine/owner.ts',
        'if (one.owner !== undefined) return marked(one);',
        'if (one.owner !== undefined) return true;',
      ],
      // Either of the two in the engine keeps it.
      [
        'controller/engine/found-index.ts',
        'near: (service) => [service, everyService, undefined].flatMap((one) => byService.of(one)),',
        'near: (service) => (service === everyService ? [] : all.of("all")),',
      ],
    ],
  },
  {
    name: 'members set from an unsynced cache',
    edits: [
      [
        'controller/services/members/member-task.ts',
        'await Promise.race([nodes.whenSynced(), untilAborted(signal)]);',
        'await Promise.resolve(nodes);',
      ],
      [
        'controller/services/members/member-sets.ts',
        "if (!nodes.synced) throw new Error('the cache of Nodes is not synced');",
        '',
      ],
    ],
  },
  {
    name: 'a Node that is not ready is no member',
    edits: [
      [
        'controller/services/members/facts.ts',
        "return { kind: isUninitialized(node) || !isProved ? 'waiting' : 'member', scope, facts };",
        "const ready = node.conditions.some(({ type, status }) => type === 'Ready' && status === 'True');\n  return " +
          "{ kind: isUninitialized(node) ? 'waiting' : ready ? 'member' : 'off', scope, facts };",
      ],
    ],
  },
  {
    name: 'the member of a vanished Node goes at once',
    edits: [
      [
        'controller/services/members/membership.ts',
        "kind === 'leaving' ? 'drains' : 'unexplained';",
        "kind === 'leaving' ? 'unexplained' : 'drains';",
      ],
    ],
  },
  {
    name: 'one refused member keeps all others out',
    edits: [
      [
        'controller/services/refused-members.ts',
        'if (out.length === 0) return { members, refused: [], againInMs: undefined };',
        'if (members.length > 0 || out.length === 0) return { members, refused: [], againInMs: undefined };',
      ],
    ],
  },
  {
    name: 'routes of others are removed',
    edits: [
      [
        'controller/routes/route-planner.ts',
        'route.ours ?? recorded(destination, leadsTo(route), route.via)',
        'inRange(route) || (route.ours ?? recorded(destination, leadsTo(route), route.via))',
      ],
    ],
  },
  {
    name: "a living Node's route removed",
    edits: [
      [
        'controller/routes/removal-approval.ts',
        '      if (isClaimed(removal, live)) ',
        '      if (isClaimed(removal, [])) ',
      ],
      // Either of the two keeps it.
      [
        'controller/routes/route-planner.ts',
        '    if (held.has(destination)) continue;',
        '    if (held.size < 0) continue;',
      ],
      [
        'controller/routes/route-planner.ts',
        'candidatesByRange.get(destination)?.some(',
        "candidatesByRange.get('')?.some(",
      ],
    ],
  },
  {
    name: 'a route replaced on a stale cache',
    edits: [
      [
        'controller/routes/route-steps.ts',
        'if (others.length > 0 && !(await stillWants(desired))) {',
        'if (others.length < 0 && !(await stillWants(desired))) {',
      ],
    ],
  },
  {
    name: 'a shorter route table closes Nodes for pods',
    edits: [
      [
        'controller/routes/missing-route-proof.ts',
        'if (had ? decided.has(kind) : !undecided.has(kind)) return true;',
        'if (had || !undecided.has(kind)) return true;',
      ],
    ],
  },
  {
    name: 'a route to an instance that has ended is made again and again',
    by: ['test/routes/ended-instances.test.ts'],
    edits: [
      [
        'controller/routes/route-steps.ts',
        'if (why !== undefined) return wait(step, why);',
        'if (why !== undefined) wait(step, why);',
      ],
    ],
  },
  {
    name: 'a Service says Ensured for ever while the cloud does not finish',
    by: ['test/services/waiting.test.ts'],
    edits: [['controller/services/ensured-action.ts', 'nowMs - waitingSinceMs >= patienceMs', 'false']],
  },
  {
    name: 'the event of a deletion says that an unmarked load balancer is gone',
    by: ['test/services/stripped-marks.test.ts'],
    edits: [['controller/services/balancers/observed-view.ts', ' ?? mainOf(ref?.id) ?? ', ' ?? ']],
  },
  {
    name: 'a floating IP stays whose port went with the load balancer',
    by: ['controller/clouds/openstack/network/floating-ips.test.ts'],
    edits: [
      [
        'controller/clouds/openstack/network/floating-ip-kind.ts',
        "if (now?.optionalText('port_id') === undefined) return true;",
        "if (now?.optionalText('port_id') === undefined) return false;",
      ],
    ],
  },
];
