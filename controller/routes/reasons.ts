import type { ReasonInfo } from '../nodes/reasons.ts';

/** Reasons of the condition NetworkUnavailable. `RouteCreated` and `NoRouteCreated` are upstream's. */
export const routeReasons = {
  RouteCreated: { meaning: 'Every pod range of the Node is routed to it.', remedy: '' },
  NoRouteCreated: {
    meaning:
      'A route to the pods of the Node could not be created yet; the message has the reason. Repeated with ' +
      'back-off.',
    remedy: "Check the cloud's status and the credential, and run `mooring-controller check`.",
  },
  QuotaExceeded: {
    meaning: 'The route table is full.',
    remedy: 'Have the quota raised, delete unneeded routes, or use larger pod ranges per Node.',
  },
  ForeignRoute: {
    meaning:
      'A route that is not provably ours has the pod range of the Node as its destination and leads ' +
      'elsewhere. It stays.',
    remedy: 'Delete that route, or give the Node another pod range.',
  },
  CIDRNotAllowed: {
    meaning:
      'The pod range of the Node is not allowed: it is outside `--cluster-cidr`, has another mask than the ' +
      'configured one, overlaps the range of another Node or of the Services, or contains the address of a ' +
      'VM. No route is created for it. With status False, an earlier route leads to the Node and stays until ' +
      'the Node is deleted.',
    remedy:
      'If the flags are right, find out who wrote the range: a kubelet can do so while it registers. Delete ' +
      'the Node and let it register again.',
  },
  DuplicatePodCIDR: {
    meaning: 'Another Node has the same pod range. The first one keeps its route.',
    remedy: 'Delete this Node and let it register again, so that it gets another range.',
  },
} as const satisfies Record<string, ReasonInfo>;
export type RouteReason = keyof typeof routeReasons;

/**
 * The reason that upstream's components write before the routes exist. It may be overwritten, unlike those of a network
 * plugin.
 */
const provisional: ReadonlySet<string> = new Set(['NodeInitialization']);

/**
 * Whether the route controller may change a condition with this reason; any other reason belongs to a network plugin.
 */
export function isRouteReason(reason: string): boolean {
  return Object.hasOwn(routeReasons, reason) || provisional.has(reason) || reason === '';
}

/** Why a route that is to be deleted still exists. */
export const removalReasons = {
  NodeSeen: { meaning: 'The API server has the Node, although the cache does not.', remedy: '' },
  BudgetExhausted: {
    meaning:
      'Too many Nodes were deleted unexpectedly in a short time. The routes to their instances wait until the budget ' +
      'has room again.',
    remedy: 'Find out why the Nodes disappear.',
  },
  LifeUnknown: { meaning: 'The API server did not answer when the Node was read again.', remedy: '' },
} as const satisfies Record<string, ReasonInfo>;
export type RemovalReason = keyof typeof removalReasons;

/** Reasons of events on Nodes; upstream's. */
export const routeEventReasons = {
  FailedToCreateRoute:
    'A route to the pods of the Node could not be created; the message has the reason of `NetworkUnavailable`.',
  CIDRNotAllowed:
    'An earlier route leads to the Node and would not be created today. It stays until the Node is deleted.',
} as const;
export type RouteEventReason = keyof typeof routeEventReasons;
