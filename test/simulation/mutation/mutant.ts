/** A break of the product's code, as text. */
export interface Mutant {
  readonly name: string;
  /** Test files of which one has to fail, where no seed can show it. */
  readonly by?: readonly string[];
  /** File, what stands there exactly once, and what is put in its place. */
  readonly edits: readonly (readonly [file: string, find: string, replace: string])[];
}
