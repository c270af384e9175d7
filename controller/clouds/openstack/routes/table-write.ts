import { CloudError, isCloudError } from '../../../../common/cloud-error.ts';
import { type PendingChange, sendTogether } from '../../change-batches.ts';
import type { OpenStackClient } from '../client.ts';
import { isOutdated } from '../fault.ts';
import { normalCidr, sameAddress } from './cidr.ts';
import type { RouteAbilities } from './extensions.ts';
import { type ExtraRoute, type Router, readRouter, routerOf } from './router.ts';

/** A passenger whose route is to be there, or is to be gone. */
export interface TableChange {
  readonly action: 'add' | 'remove';
  readonly route: ExtraRoute;
  readonly passenger: PendingChange<unknown, unknown>;
}

export interface TableWriteParts {
  readonly client: OpenStackClient;
  readonly routerId: string;
  readonly abilities: RouteAbilities;
  readonly signal: AbortSignal;
}

const maxTries = 8;

export const sameRoute = (one: ExtraRoute, other: ExtraRoute): boolean =>
  sameDestination(one, other) && sameAddress(one.nexthop, other.nexthop);

export function sameDestination(one: ExtraRoute, other: ExtraRoute): boolean {
  return (normalCidr(one.destination) ?? one.destination) === (normalCidr(other.destination) ?? other.destination);
}

/** Neutron would spread packets over several routes with one destination. */
export function conflictOf(route: ExtraRoute, there: readonly ExtraRoute[]): CloudError | undefined {
  const other = there.find((known) => sameDestination(known, route) && !sameRoute(known, route));
  if (other === undefined) return undefined;
  const message = `${route.destination} is routed to ${other.nexthop} already`;
  return new CloudError({ kind: 'Conflict', cloud: 'openstack', operation: 'routes', message });
}

/**
 * Applies changes to the routes of a router in as few calls as possible: with the atomic extension one for additions
 * and one for removals, otherwise one with the whole list. A write is bound to the revision that was read, so that no
 * foreign route is lost and no destination doubled; a router that changed meanwhile is read again. A change that
 * Neutron refuses does not fail the others of its call. Every change that is left without an error is done.
 *
 * @returns the router after it
 */
export async function writeTable(
  parts: TableWriteParts,
  router: Router,
  changes: readonly TableChange[],
): Promise<Router> {
  const { atomic } = parts.abilities;
  const lists = atomic
    ? (['remove', 'add'] as const).map((action) => changes.filter((change) => change.action === action))
    : [changes];
  let known = router;
  for (const list of lists) known = await writeList(parts, known, list);
  return known;
}

/** Answers the router as it is then. */
async function writeList(parts: TableWriteParts, router: Router, changes: readonly TableChange[]): Promise<Router> {
  let known = router;
  for (let attempt = 1; ; attempt += 1) {
    const current = known;
    const waiting = changes.filter(({ passenger }) => !passenger.done);
    try {
      const sent = await sendTogether(
        waiting.map(({ passenger }) => passenger),
        (permitted, permit) => {
          const mine = waiting.filter(({ passenger }) => permitted.includes(passenger));
          return writeOnce(parts, current, mine, permit);
        },
      );
      return sent?.answer ?? current;
    } catch (error) {
      if (!isCloudError(error)) throw error;
      if (isOutdated(error) && attempt < maxTries) {
        known = await readRouter(parts.client, parts.routerId, { urgency: 'change', signal: parts.signal });
        continue;
      }
      if (waiting.length > 1 && (error.kind === 'QuotaExceeded' || error.kind === 'Invalid')) {
        return inHalves(parts, current, waiting, error);
      }
      for (const { passenger } of waiting) passenger.reject(error);
      return current;
    }
  }
}

/** What fits goes in, and what is wrong is found. A table that is full for one is full for all. */
async function inHalves(
  parts: TableWriteParts,
  router: Router,
  changes: readonly TableChange[],
  error: Error & { readonly kind: string },
): Promise<Router> {
  const middle = Math.ceil(changes.length / 2);
  const first = changes.slice(0, middle);
  const second = changes.slice(middle);
  const between = await writeList(parts, router, first);
  const full = error.kind === 'QuotaExceeded' && first.at(-1)?.passenger.done === true;
  if (!full) return writeList(parts, between, second);
  const removals = second.filter(({ action }) => action === 'remove');
  for (const { passenger, action } of second) if (action === 'add') passenger.reject(error);
  return removals.length === 0 ? between : writeList(parts, between, removals);
}

async function writeOnce(
  { client, routerId, abilities, signal }: TableWriteParts,
  router: Router,
  changes: readonly TableChange[],
  permit: (timeoutMs: number) => void,
): Promise<Router> {
  const gone = changes.flatMap(({ action, route }) => (action === 'remove' ? [route] : []));
  const removed = router.routes.filter((there) => gone.some((route) => sameRoute(route, there)));
  const kept = router.routes.filter((there) => !removed.includes(there));
  const added: ExtraRoute[] = [];
  for (const { action, route, passenger } of changes) {
    if (action !== 'add' || [...kept, ...added].some((there) => sameRoute(there, route))) continue;
    const refusal = conflictOf(route, [...kept, ...added]);
    if (refusal === undefined) added.push(route);
    else passenger.reject(refusal);
  }
  if (added.length === 0 && removed.length === 0) return router;
  const { atomic, ifMatch } = abilities;
  const action = added.length > 0 ? 'add_extraroutes' : 'remove_extraroutes';
  const routes = atomic ? (added.length > 0 ? added : removed) : [...kept, ...added];
  // What is taken away one by one is taken from any revision.
  const match = ifMatch && router.revision !== undefined && !(atomic && added.length === 0);
  const operation = atomic ? `PUT /routers/{id}/${action}` : 'PUT /routers/{id}';
  const answer = await client.change({
    service: 'network',
    method: 'PUT',
    operation,
    path: `/routers/${encodeURIComponent(routerId)}${atomic ? `/${action}` : ''}`,
    body: { router: { routes } },
    permit,
    urgency: 'change',
    signal,
    ...(match ? { headers: { 'if-match': `revision_number=${router.revision}` } } : {}),
  });
  return routerOf(answer.object('router'));
}
