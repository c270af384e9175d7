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
}

/** The changes that a run would make now. The plan itself is never applied; a run makes its own. */
export interface Plan {
  readonly changes: readonly PlannedChange[];
  /** What could not be planned, such as a cloud that did not answer. The plan is then incomplete. */
  readonly problems: readonly string[];
}

/** Whether a run would change nothing; withheld changes do not count. */
export function isEmptyPlan({ changes }: Plan): boolean {
  return changes.every(({ action }) => action === 'hold');
}
