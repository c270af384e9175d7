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

/**
 * The proof that the sender's Node runs on the VM that it names. `psat`: the token alone, which proves the Node and
 * nothing about the VM; `psat+doc`: also a signed document of the cloud; `psat+fresh`: one that answers our challenge.
 */
export type Assurance = 'psat' | 'psat+doc' | 'psat+fresh';
