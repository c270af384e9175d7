import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { debianPackages, librariesOf } from '../clouds/proof-tools.ts';
import { readPages } from './pages.ts';
import { proseOf } from './prose.ts';

/**
 * `node test/docs/spelling.ts`: the spelling of README.md and docs/, by hunspell of Debian's packages with its British
 * dictionary and the words of `words.txt`. Ends in "N passed, N failed", which counts pages.
 */
const root = join(import.meta.dirname, '../..');
const words = join(import.meta.dirname, 'words.txt');

const tool = await debianPackages('hunspell', ['hunspell', 'libhunspell-1.7-0', 'hunspell-en-gb']);
if ('skipped' in tool) {
  console.error(`SKIPPED: the spelling of the pages was NOT checked: ${tool.skipped}`);
  console.log('0 passed, 0 failed');
} else {
  const env = {
    ...process.env,
    LC_ALL: 'C.UTF-8',
    LD_LIBRARY_PATH: librariesOf(tool),
    DICPATH: join(tool.folder, 'usr/share/hunspell'),
  };
  const program = join(tool.folder, 'usr/bin/hunspell');
  let [passed, failed] = [0, 0];
  for (const { path, text } of await readPages(root)) {
    const unknown = await unknownWords(program, env, proseOf(text));
    if (unknown.length === 0) passed += 1;
    else {
      failed += 1;
      console.error(`${path}: ${unknown.join(', ')}`);
    }
  }
  if (failed > 0) console.error(`Correct them, or add names of the field to ${words}.`);
  console.log(`${passed} passed, ${failed} failed`);
  process.exitCode = failed > 0 ? 1 : 0;
}

function unknownWords(program: string, env: NodeJS.ProcessEnv, prose: string): Promise<string[]> {
  return new Promise((resolve, reject) => {
    const args = ['-i', 'utf-8', '-d', 'en_GB', '-p', words, '-l'];
    const child = execFile(program, args, { env, maxBuffer: 2 ** 24 }, (error, stdout) => {
      if (error !== null) reject(error);
      else resolve([...new Set(stdout.split('\n').filter((word) => word !== ''))]);
    });
    child.stdin?.end(prose);
  });
}
