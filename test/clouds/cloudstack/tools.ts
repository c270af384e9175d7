import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { kept, limits, type Tool } from '../proof-tools.ts';

const run = promisify(execFile);
/** The vendor's client for Go: it holds the API description and recorded answers of a management server. */
const description = {
  module: 'github.com/apache/cloudstack-go/v2',
  version: 'v2.17.0',
  sum: 'h1:jueNPcm8g7ReY34xoTVubMyRcVrpuPO/tZbzN68DCLA=',
};
const client = 'cs-5.2.0';

/** The folder of the API description, and of recorded answers, with a pinned sum. */
export async function apiDescription(): Promise<Tool<{ folder: string }>> {
  const { module, version, sum } = description;
  try {
    // Outside of every module.
    const { stdout } = await run('go', ['mod', 'download', '-json', `${module}@${version}`], { ...limits, cwd: '/' });
    const downloaded: { readonly Dir: string; readonly Sum: string } = JSON.parse(stdout);
    if (downloaded.Sum !== sum) return { skipped: `${module}: its sum is ${downloaded.Sum}, expected ${sum}` };
    return { folder: downloaded.Dir };
  } catch (error) {
    return { skipped: `go mod download ${module}: ${String(error).trim().split('\n').at(-1) ?? ''}` };
  }
}

/** `cs`, a client for Python that others wrote, in a virtual environment of its own. */
export async function pythonWithClient(): Promise<Tool<{ python: string }>> {
  const tool = await kept(`python-${client}`, async (folder) => {
    await run('python3', ['-m', 'venv', folder], limits);
    const requirements = join(import.meta.dirname, 'clients/requirements.txt');
    const install = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '--require-hashes'];
    await run(join(folder, 'bin/python'), [...install, '--only-binary=:all:', '-r', requirements], limits);
  });
  return 'skipped' in tool ? tool : { python: join(tool.folder, 'bin/python') };
}
