import { execFile } from 'node:child_process';
import { cp, mkdtemp, readFile, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { kept, limits, type Tool } from '../clouds/proof-tools.ts';

const execute = promisify(execFile);
const root = join(import.meta.dirname, '../..');

/**
 * What stands for the previous release until one is tagged: the last commit before members and routes were changed
 * without a fixed wait. After it the records of Services and Nodes were read and written by other code, and it has the
 * dependencies of today. With the first tag this becomes the newest tag before the version in package.json.
 */
export const previousCommit = '9184725a331f2b8e03d8bf8c6f9b1bf1bcce1efe';
/** The same of the release before that, whose agents are accepted, too: two days older. */
export const secondPreviousCommit = '4a48071a7374e189f8416f38758138325601a387';

/** A folder as `npm run build` fills it. */
export interface Release {
  readonly folder: string;
}

/**
 * The programs of an earlier commit, built once from this repository's history and kept in the cache folder. Skipped
 * where the history is not there, as in a shallow clone.
 */
export async function previousRelease(revision = previousCommit): Promise<Tool<Release>> {
  const git = (...args: string[]) => execute('git', ['-C', root, ...args], limits);
  let commit: string;
  try {
    commit = (await git('rev-parse', '--verify', '--quiet', `${revision}^{commit}`)).stdout.trim();
  } catch {
    return { skipped: `the commit ${revision} is not in the history of this checkout` };
  }
  return kept(`previous-${commit}`, async (folder) => {
    const source = await mkdtemp(join(tmpdir(), 'mooring-previous-'));
    try {
      const archive = join(source, 'source.tar');
      await git('archive', `--output=${archive}`, commit);
      await execute('tar', ['-xf', archive, '-C', source], limits);
      const [theirs, ours] = await Promise.all(
        [source, root].map((each) => readFile(join(each, 'package-lock.json'), 'utf8')),
      );
      if (theirs === ours) await symlink(join(root, 'node_modules'), join(source, 'node_modules'));
      else await execute('npm', ['ci', '--no-audit', '--no-fund', '--silent'], { ...limits, cwd: source });
      await execute(process.execPath, ['scripts/build.ts'], { ...limits, cwd: source });
      await cp(join(source, 'dist'), folder, { recursive: true });
    } finally {
      await rm(source, { recursive: true, force: true });
    }
  });
}
