import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { kept, limits, type Tool } from '../proof-tools.ts';

const run = promisify(execFile);

/** The vendor's Python client, by its hashes, in a virtual environment of its own. */
export async function pythonWithClient(): Promise<Tool<{ python: string }>> {
  const tool = await kept('python-ovirt-engine-sdk-python-4.6.3', async (folder) => {
    await run('python3', ['-m', 'venv', folder], limits);
    const quiet = ['--quiet', '--disable-pip-version-check', '--require-hashes'];
    const requirements = join(import.meta.dirname, 'clients/requirements.txt');
    await run(join(folder, 'bin/python'), ['-m', 'pip', 'install', ...quiet, '-r', requirements], limits);
  });
  return 'skipped' in tool ? tool : { python: join(tool.folder, 'bin/python') };
}
