import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { allMutants } from './all-mutants.ts';
import { brokenTexts } from './mutant.ts';

const root = fileURLToPath(new URL('../../../', import.meta.url));

describe('the breaks of the product', () => {
  it('still find the code that they break', async () => {
    for (const mutant of allMutants) await brokenTexts(mutant, (file) => readFile(join(root, file), 'utf8'));
  });
});
