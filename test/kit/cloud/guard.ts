/** Of one change: refused with 409 `revision-mismatch` when the load balancer is at another revision. Left out = whatever it is at. */
export interface Guard {
  readonly ifRevision?: number | undefined;
}
