import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { kept, limits, type Tool } from '../proof-tools.ts';

const run = promisify(execFile);
/** With the hash of each file, as `pip hash` tells it. */
const requirements = join(import.meta.dirname, 'clients/requirements.txt');

/** The vendor's Python clients, in a virtual environment of their own. */
export async function pythonWithClients(): Promise<Tool<{ python: string }>> {
  const digest = createHash('sha256')
    .update(await readFile(requirements))
    .digest('hex');
  const tool = await kept(`python-alibaba-${digest.slice(0, 12)}`, async (folder) => {
    await run('python3', ['-m', 'venv', folder], limits);
    const install = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '--require-hashes'];
    await run(join(folder, 'bin/python'), [...install, '-r', requirements], limits);
  });
  return 'skipped' in tool ? tool : { python: join(tool.folder, 'bin/python') };
}
