import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { kept, limits, type Tool } from '../proof-tools.ts';

const run = promisify(execFile);
const requirements = join(import.meta.dirname, 'clients/requirements.txt');

/** The vendor's clients for Python, in a virtual environment of their own, by their hashes. */
export async function pythonWithClients(): Promise<Tool<{ python: string }>> {
  const tool = await kept('python-huaweicloudsdk-ecs-eip-elb-vpc-3.1.219', async (folder) => {
    await run('python3', ['-m', 'venv', folder], limits);
    const quiet = ['--quiet', '--disable-pip-version-check', '--no-deps', '--require-hashes'];
    await run(join(folder, 'bin/python'), ['-m', 'pip', 'install', ...quiet, '-r', requirements], limits);
  });
  return 'skipped' in tool ? tool : { python: join(tool.folder, 'bin/python') };
}
