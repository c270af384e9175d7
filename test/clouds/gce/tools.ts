import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { goProgram, kept, limits, type Tool } from '../proof-tools.ts';

const run = promisify(execFile);
const pythonClient = 'google-cloud-compute==1.57.0';

/** The program of `google/`: Google's mock behind HTTP and its classic provider, built from the Go module proxy. */
export function googleProgram(): Promise<Tool<{ program: string }>> {
  return goProgram(join(import.meta.dirname, 'google'), 'gce-google');
}

/** The vendor's Python client, in a virtual environment of its own. */
export async function pythonWithClient(): Promise<Tool<{ python: string }>> {
  const tool = await kept(`python-${pythonClient}`, async (folder) => {
    await run('python3', ['-m', 'venv', folder], limits);
    const install = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', pythonClient];
    await run(join(folder, 'bin/python'), install, limits);
  });
  return 'skipped' in tool ? tool : { python: join(tool.folder, 'bin/python') };
}
