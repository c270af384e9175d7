import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { goProgram, kept, limits, type Tool } from '../proof-tools.ts';

const run = promisify(execFile);
const pythonClients = ['azure-identity==1.27.0', 'azure-mgmt-compute==39.0.0', 'azure-mgmt-network==33.1.0'];

/** The vendor's Python clients, in a virtual environment of their own. */
export async function pythonWithClients(): Promise<Tool<{ python: string }>> {
  const tool = await kept(`python-${pythonClients.join('-')}`, async (folder) => {
    await run('python3', ['-m', 'venv', folder], limits);
    const install = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', ...pythonClients];
    await run(join(folder, 'bin/python'), install, limits);
  });
  return 'skipped' in tool ? tool : { python: join(tool.folder, 'bin/python') };
}

const goModule = join(import.meta.dirname, 'clients/go');

/** The program of `clients/go`, built of the classic controller's provider. */
export function classicProvider(): Promise<Tool<{ program: string }>> {
  return goProgram(goModule, 'azure-classic-provider');
}

/** Azure's agent, in the version of that provider. */
export function cloudNodeManager(): Promise<Tool<{ program: string }>> {
  const within = { ...limits, timeout: 1_800_000 };
  const command = 'sigs.k8s.io/cloud-provider-azure/cmd/cloud-node-manager';
  return goProgram(goModule, 'cloud-node-manager', command, within);
}
