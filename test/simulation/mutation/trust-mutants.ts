import type { Mutant } from './mutant.ts';

/** Breaks of what keeps kubelets, users of namespaces and a stolen account within their bounds. */
export const trustMutants: readonly Mutant[] = [
  {
    name: "a kubelet's pause keeps its own Node",
    edits: [
      [
        'controller/nodes/examine.ts',
        "if (state === 'stopped' && isPaused(node)) return { kind: 'over' };",
        "if (isPaused(node)) return { kind: 'over' };",
      ],
    ],
  },
  {
    name: 'names of Nodes that a person keeps are ignored',
    edits: [
      [
        'controller/runtime/pause.ts',
        'nodes: pausedNodesOf(data?.[names.pausedNodesKey])',
        'nodes: pausedNodesOf(data === undefined ? names.pausedNodesKey : undefined)',
      ],
    ],
  },
  {
    name: 'a name alone binds a Node to an instance',
    edits: [
      [
        'controller/nodes/resolve.ts',
        'if (compared || cloud?.bindsByName === true) return found;',
        'if (compared || cloud !== undefined) return found;',
      ],
    ],
  },
  {
    name: 'routes leave the bounds',
    edits: [
      [
        'controller/routes/allowed-ranges.ts',
        'const fault = boundsFault(claim.range, bounds);',
        'const fault = claims.length < 0 ? boundsFault(claim.range, bounds) : undefined;',
      ],
    ],
  },
  {
    name: 'routes of another mask',
    edits: [
      [
        'controller/model/route-bounds.ts',
        'if (mask !== undefined && range.prefix !== mask)',
        'if (mask !== undefined && range.prefix === mask - 99)',
      ],
    ],
  },
  {
    name: 'consent to one namespace is consent to all',
    edits: [
      [
        'controller/clouds/consent.ts',
        '({ namespace, name }: Consent) => namespace !== undefined && includes({ namespace, name }, claimant);',
        '({ namespace, name }: Consent) => namespace !== undefined && (name === undefined || includes({ namespace, ' +
          'name }, claimant));',
      ],
    ],
  },
  {
    name: 'every namespace may leave load balancers behind',
    edits: [
      [
        'controller/services/operator-policy.ts',
        'return isGranted(retain, service);',
        'return retain !== undefined || service !== undefined;',
      ],
    ],
  },
  {
    name: 'total absence believed where nothing was ever shown',
    edits: [
      [
        'controller/nodes/deletion-decision.ts',
        "return canary === 'not-found' || (canary === 'none' && !hasSeenInstance);",
        "return canary === 'not-found' && hasSeenInstance;",
      ],
    ],
  },
  {
    name: 'Services are patched beyond their status',
    edits: [['controller/services/write-service.ts', '}/status`,', '}`,']],
  },
];
