import type { ApplyOptions } from './permit.ts';

/** What a pod network needs: packets for `destination` go to this instance. */
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

/** One route as the cloud shows it. Clouds add what their own calls need. */
export interface ObservedRoute {
  /** Unique in the table. */
  readonly id: string;
  /** Normalised CIDR. */
  readonly destination: string;
  /** The instance it leads to; undefined when that is gone or not an instance of this scope. */
  readonly providerID: string | undefined;
  /** The cloud says that packets are dropped. */
  readonly blackhole: boolean;
  /** By its tags; undefined where this cloud cannot tag routes. */
  readonly ours: boolean | undefined;
}

export interface RouteTable<R extends ObservedRoute = ObservedRoute> {
  readonly routes: readonly R[];
  /** Where the cloud tells it. */
  readonly quota: { readonly limit: number; readonly used: number } | undefined;
}

/** The pod routes of one configured cloud. */
export interface Routes<R extends ObservedRoute = ObservedRoute> {
  /** False where this cloud cannot tag routes: then every route is recorded before it is made, so that what was ours can be told from what others made. */
  readonly tagged: boolean;
  /** Every route of the table(s) that this cluster uses, in few calls. Complete, or throws a CloudError. Reads only. */
  observe(cluster: string, signal?: AbortSignal): Promise<RouteTable<R>>;
  /**
   * One mutating call (clouds may send several at once). Idempotent: repeated after a lost answer, it finds what it made. `Conflict` when another route has that
   * destination. Throws a CloudError or a WithheldError.
   */
  create(route: DesiredRoute, options: ApplyOptions): Promise<R>;
  /** One mutating call; no failure when it is gone already. Throws a CloudError or a WithheldError. */
  remove(route: R, options: ApplyOptions): Promise<void>;
}
