/** One mutating call to the cloud. Plain data, so that `plan` prints the very steps that `run` applies. */
export interface LoadBalancerStep {
  readonly action: 'create' | 'update' | 'delete';
  /** The cloud's own name for it: `load balancer`, `listener`, `pool`, `address`, ... */
  readonly resource: string;
  /** The id, or the name before there is an id. */
  readonly target: string;
  /** One line for people: the change with the old and the new value. Free of credentials. */
  readonly summary: string;
}

/** What is kept with a Service about what was made for it. */
export interface CloudRecord {
  /** Of its load balancer. */
  readonly id: string | undefined;
  /** What the cloud wants to be told after a crash, in its own words; without white space. */
  readonly notes: string | undefined;
}
