import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { referencePages } from './reference-pages.ts';

/** Where the generated pages lie. */
export const referenceFolder = join(import.meta.dirname, '../docs/reference');

if (import.meta.main) {
  await mkdir(referenceFolder, { recursive: true });
  for (const [name, text] of await referencePages()) await writeFile(join(referenceFolder, name), text);
}
