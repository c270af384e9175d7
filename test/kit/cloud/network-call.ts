import type { SimulatedAddress } from './address-model.ts';
import type { SimulatedLoadBalancer } from './load-balancer.ts';
import type { ResourceView } from './network-wire.ts';
import { notFound, Refused } from './refused.ts';
import type { SimulatedRoute } from './route-model.ts';
import type { Answer } from './wire.ts';

/** What one caller can see beside the VMs of one region at one moment. */
export interface NetworkView {
  readonly loadBalancers: ResourceView<SimulatedLoadBalancer>;
  readonly addresses: ResourceView<SimulatedAddress>;
  readonly routes: ResourceView<SimulatedRoute>;
  /** The credential is of another project: it sees nothing and may make nothing. */
  readonly blind: boolean;
  /** A fault: what is made ends up `failed`. */
  readonly endsFailed: boolean;
}

export interface NetworkCall {
  readonly operation: string;
  /** Id of the resource, where the path names one. */
  readonly resource?: string;
  run(view: NetworkView): Answer;
}

export function answer(status: number, value: unknown): Answer {
  return { status, value };
}

/** The place, for those who may make something there. */
export function visibleIn(view: NetworkView, place: string): string {
  if (view.blind) throw new Refused(403, 'forbidden', 'the credential is of another project');
  return place;
}

export function seen<R>(view: ResourceView<R>, kind: string, id: string): R {
  const found = view.get(id);
  if (!found) throw notFound(kind, id);
  return found;
}
