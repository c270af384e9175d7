import type { Assurance } from '../reports/attestation/verdict.ts';

/** What a cloud's signed document says about the VM; every field comes from what was signed. */
export interface VerifiedInstance {
  readonly assurance: Exclude<Assurance, 'psat'>;
  readonly cloud: string;
  /** As in `Instance.id`; undefined where the document does not contain it (Azure). */
  readonly id?: string;
  readonly incarnation?: string;
  /** Lower-case prefix of the id, where the document contains the account but not the id. */
  readonly idPrefix?: string;
  readonly zone?: string;
  readonly region?: string;
}
