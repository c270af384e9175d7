import type { ReasonInfo } from '../nodes/reasons.ts';

/** Reasons that the controller gives in the condition NetworkUnavailable. `RouteCreated` and `NoRouteCreated` are upstream's. */
export const routeReasons = {
  RouteCreated: { meaning: 'Every pod range of the Node is routed to it.', remedy: '' },
  NoRouteCreated: {
    meaning: 'A route to the pods of the Node could not be made yet; the message says why. Tried again with back-off.',
    remedy: "Look at the cloud's status, the credential and `mooring-controller check`.",
  },
  QuotaExceeded: {
    meaning: 'The route table is full.',
    remedy: 'Have the quota raised, remove routes that nobody needs, or give nodes larger pod ranges.',
  },
  ForeignRoute: {
    meaning:
      'A route that is not provably ours has the pod range of the Node as destination and leads elsewhere. It is left alone.',
    remedy: 'Remove that route, or give the Node another pod range.',
  },
  CIDRNotAllowed: {
    meaning:
      'The pod range of the Node is none that it may have: outside `--cluster-cidr`, of another mask than the configured one, over the range of another Node or of the Services, or over the address of a VM. No route is made for it. With status False, a route from earlier leads to the Node; it stays until the Node goes.',
    remedy:
      'If the flags are right, find out who wrote the range: a kubelet can while it registers. Delete the Node and let it register again.',
  },
  DuplicatePodCIDR: {
    meaning: 'Another Node has the same pod range; the first one keeps its route.',
    remedy: 'Delete this Node and let it register again, so that it is given another range.',
  },
} as const satisfies Record<string, ReasonInfo>;
export type RouteReason = keyof typeof routeReasons;

/** What upstream's agents and kubelets write before routes stand: taken over, unlike the reasons of a network plugin. */
const provisional: ReadonlySet<string> = new Set(['NodeInitialization']);

/** Whether a reason of NetworkUnavailable is the route controller's to change; any other is a network plugin's own. */
export function isRouteReason(reason: string): boolean {
  return Object.hasOwn(routeReasons, reason) || provisional.has(reason) || reason === '';
}

/** Why a route that should go is still there. */
export const removalReasons = {
  NodeSeen: { meaning: 'The API server shows the Node, though the cache does not.', remedy: '' },
  BudgetExhausted: {
    meaning:
      'Too many Nodes vanished without explanation lately; the routes to their instances wait for the window to move.',
    remedy: 'Find out why the Nodes vanish.',
  },
  LifeUnknown: { meaning: 'The API server did not answer when the Node was looked for once more.', remedy: '' },
} as const satisfies Record<string, ReasonInfo>;
export type RemovalReason = keyof typeof removalReasons;

/** Reasons of events on Nodes; upstream's. */
export const routeEventReasons = {
  FailedToCreateRoute:
    'A route to the pods of the Node could not be made; the message has the reason of `NetworkUnavailable`.',
  CIDRNotAllowed: 'A route from earlier leads to the Node, and would not be made today; it stays until the Node goes.',
} as const;
export type RouteEventReason = keyof typeof routeEventReasons;
