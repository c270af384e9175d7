import type { ApplyOptions } from './permit.ts';

/** A desired pod route: packets for `destination` go to this instance. */
export interface DesiredRoute {
  /** UID of the namespace kube-system. */
  readonly cluster: string;
  readonly node: string;
  readonly nodeUid: string;
  /** Normalised CIDR. */
  readonly destination: string;
  readonly providerID: string;
  /** Internal addresses of the Node, for clouds that route to addresses. */
  readonly addresses: readonly string[];
}

/** One route as the cloud shows it. Clouds add the fields that their own calls need. */
export interface ObservedRoute {
  /** Unique in the table. */
  readonly id: string;
  /** Normalised CIDR. */
  readonly destination: string;
  /** The instance that it leads to; undefined when the instance is gone or not in this scope. */
  readonly providerID: string | undefined;
  /** The address that it leads to, where the cloud routes to addresses: another instance may have it later. */
  readonly via?: string | undefined;
  /** Whether the cloud shows that the route drops packets. */
  readonly blackhole: boolean;
  /** Whether some of the tables of this cluster lack it, so that `create` adds it there. Default: no. */
  readonly incomplete?: boolean;
  /**
   * Whether its tags are ours. Undefined: only a record tells, because this cloud cannot tag routes, or because the
   * classic controller of a cloud that can did not say of which cluster the route is.
   */
  readonly ours: boolean | undefined;
}

export interface RouteTable<R extends ObservedRoute = ObservedRoute> {
  readonly routes: readonly R[];
  /** Undefined where the cloud does not report it. */
  readonly quota: { readonly limit: number; readonly used: number } | undefined;
}

/** The pod routes of one configured cloud. */
export interface Routes<R extends ObservedRoute = ObservedRoute> {
  /**
   * False where this cloud cannot tag routes: then every route is recorded before it is created, so that our routes can
   * be told from foreign ones.
   */
  readonly tagged: boolean;
  /** All routes of the table(s) that this cluster uses, in few calls. Complete, or throws a CloudError. Reads only. */
  observe(cluster: string, signal?: AbortSignal): Promise<RouteTable<R>>;
  /**
   * Creates a route, in one mutating call (clouds may batch several). Idempotent: repeated after a lost answer, it
   * finds what it created, and adds it to the tables that lack it. `Conflict` when another route has that destination.
   * Throws a CloudError or a WithheldError.
   */
  create(route: DesiredRoute, options: ApplyOptions): Promise<R>;
  /**
   * Deletes a route, in one mutating call; no failure when it is already gone. Throws a CloudError or a WithheldError.
   */
  remove(route: R, options: ApplyOptions): Promise<void>;
}
