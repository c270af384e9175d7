/**
 * A condition of one change: refused with 409 `revision-mismatch` at another revision of the load balancer. Left out =
 * any revision.
 */
export interface Guard {
  readonly ifRevision?: number | undefined;
}
