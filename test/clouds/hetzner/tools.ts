import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { goProgram, kept, limits, openApiFile, type Tool } from '../proof-tools.ts';

const run = promisify(execFile);
const pythonClient = 'hcloud==2.27.0';

/** The OpenAPI document of Hetzner Cloud. */
export async function openApiDocument(): Promise<Tool<{ file: string }>> {
  const tool = await openApiFile('hetzner.cloud.json');
  if ('skipped' in tool) return tool;
  const document: OpenApi = JSON.parse(await readFile(join(tool.folder, 'hetzner.cloud.json'), 'utf8'));
  const file = join(tool.folder, 'corrected.json');
  await writeFile(file, JSON.stringify(corrected(document)));
  return { file };
}

interface Parameter {
  readonly description: string;
  schema: unknown;
}
interface Operation {
  readonly parameters?: readonly Parameter[];
  readonly responses: Record<string, unknown>;
}
interface OpenApi {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
}

/**
 * The document says in words which parameters of `GET /actions` may be given several times, and in its schema that each
 * is one value. It is older than the vendor's clients, which expect an action of a load balancer's removal.
 */
function corrected(document: OpenApi): OpenApi {
  const { paths } = document;
  for (const parameter of paths['/actions']?.['get']?.parameters ?? [])
    if (/multiple times/.test(parameter.description)) parameter.schema = { type: 'array', items: parameter.schema };
  const action = paths['/load_balancers/{id}/actions/change_type']?.['post']?.responses['201'];
  const removal = paths['/load_balancers/{id}']?.['delete'];
  if (removal !== undefined && action !== undefined) removal.responses['200'] = action;
  return document;
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

/** The program of `clients/go`, built of the vendor's Go client. */
export function goClient(): Promise<Tool<{ program: string }>> {
  return goProgram(join(import.meta.dirname, 'clients/go'), 'hetzner-go-client');
}
