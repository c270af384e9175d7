/** A break of the product's code, as text. */
export interface Mutant {
  readonly name: string;
  /** Test files of which one has to fail, where no seed can show it. */
  readonly by?: readonly string[];
  /** File, what stands there exactly once, and what is put in its place. */
  readonly edits: readonly (readonly [file: string, find: string, replace: string])[];
}

/**
 * The texts of the files that a mutant changes, by path. Throws unless each text to be replaced is there exactly once:
 * otherwise the code has changed, and the mutant must follow.
 */
export async function brokenTexts(
  { name, edits }: Mutant,
  read: (file: string) => Promise<string>,
): Promise<ReadonlyMap<string, string>> {
  const texts = new Map<string, string>();
  for (const [file, find, replace] of edits) {
    const parts = (texts.get(file) ?? (await read(file))).split(find);
    if (parts.length !== 2)
      throw new Error(`mutant "${name}", ${file}: expected once, found ${parts.length - 1} times: ${find}`);
    texts.set(file, parts.join(replace));
  }
  return texts;
}
