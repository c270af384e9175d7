/** One change of a run, or one that is withheld. */
export interface PlannedChange {
  /** `kubernetes`, or the cloud's scope. */
  readonly of: string;
  /** `node worker-1`, `service default/web`, `route 10.1.0.0/24`. */
  readonly object: string;
  /** `hold`: the change is withheld, and `what` has the reason. */
  readonly action: 'create' | 'update' | 'delete' | 'hold';
  /** One line for people, free of credentials. */
  readonly what: string;
  /** Of a change in a cloud for a Service: what kind of resource, as the cloud calls it. */
  readonly resource?: string;
  /** Its id, or its name before there is an id; of a route: the providerID that it leads to. */
  readonly target?: string;
  /**
   * In so many milliseconds (whole seconds) at the earliest, if nothing changes until then: it waits for proof, a
   * delay or a budget. Absent: at once.
   */
  readonly inMs?: number;
}

/** What a run with the same options would change. The plan itself is never applied; a run makes its own. */
export interface Plan {
  readonly changes: readonly PlannedChange[];
  /** What could not be planned, such as a cloud that did not answer. The plan is then incomplete. */
  readonly problems: readonly string[];
}

/** Whether a run would change nothing; withheld changes do not count. */
export function isEmptyPlan({ changes }: Plan): boolean {
  return changes.every(({ action }) => action === 'hold');
}
