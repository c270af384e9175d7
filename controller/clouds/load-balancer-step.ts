/** One mutating call to the cloud. Plain data, so that `plan` prints the very steps that `run` applies. */
export interface LoadBalancerStep {
  readonly action: 'create' | 'update' | 'delete';
  /** The cloud's own name for it: `load balancer`, `listener`, `pool`, `address`, ... */
  readonly resource: string;
  /** The id, or the name before there is an id. */
  readonly target: string;
  /** One line for people: the change with the old and the new value. Free of credentials. */
  readonly summary: string;
  /** In a plan: several Services share the resource, and one of them makes the call for all. */
  readonly isShared?: true;
}

/** The record on a Service of its cloud resources. */
export interface CloudRecord {
  /** Of its load balancer. */
  readonly id: string | undefined;
  /** Text of the cloud's driver for the time after a crash; without white space. */
  readonly notes: string | undefined;
}
