/** One thing that a run would change, or would like to and may not. */
export interface PlannedChange {
  /** `kubernetes`, or the cloud's scope. */
  readonly of: string;
  /** `node worker-1`, `service default/web`, `route 10.1.0.0/24`. */
  readonly object: string;
  /** `hold`: nothing is changed, and `what` says why. */
  readonly action: 'create' | 'update' | 'delete' | 'hold';
  /** One line for people, free of credentials. */
  readonly what: string;
}

/** What a run would do now. Applied by nobody; a run plans anew. */
export interface Plan {
  readonly changes: readonly PlannedChange[];
  /** What could not be planned: a cloud that did not answer. Then the plan is in doubt. */
  readonly problems: readonly string[];
}

/** Whether a run would change anything; holding is not changing. */
export function isEmptyPlan({ changes }: Plan): boolean {
  return changes.every(({ action }) => action === 'hold');
}
