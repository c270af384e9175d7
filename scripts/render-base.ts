import { execFile } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { parse } from 'yaml';
import { version } from '../common/version.ts';

/**
 * `npm run manifests`: renders the chart into `deploy/base`, for kustomize, and that into `deploy/mooring.yaml`, for
 * `kubectl apply -f`. Needs helm 3 on the path, or in the variable HELM.
 */

const deploy = join(import.meta.dirname, '../deploy');
export const chart = join(deploy, 'chart');

/**
 * The files of `deploy/base` as the chart has them, by name, without kustomization.yaml.
 *
 * @param helm its path
 */
export async function renderBase(helm: string): Promise<ReadonlyMap<string, string>> {
  const folder = await mkdtemp(join(tmpdir(), 'mooring-base-'));
  try {
    const args = ['template', 'mooring', chart, '--namespace=kube-system', '--kube-version=1.30.0', '--skip-tests'];
    await promisify(execFile)(helm, [...args, '--set=kustomizeBase=true', `--output-dir=${folder}`]);
    const rendered = join(folder, 'mooring/templates');
    const files = (await readdir(rendered)).filter((file) => file.endsWith('.yaml')).sort();
    return new Map(
      await Promise.all(
        files.map(async (file) => [file, withoutMarks(await readFile(join(rendered, file), 'utf8'))] as const),
      ),
    );
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Without the marks of helm before each document. */
function withoutMarks(text: string): string {
  return text.replaceAll(/^# Source: .*\n/gm, '').replace(/^---\n/, '');
}

const introduction = `# Everything of Mooring ${version}, for one cloud that needs no configuration file. Replace
# registry.example.com by your registry and CLOUD by the name of the cloud, then: kubectl apply -f mooring.yaml
`;

/** The objects of `deploy/base` as one file, in the order of the kustomization. */
export async function singleFile(): Promise<string> {
  const read = (file: string) => readFile(join(deploy, 'base', file), 'utf8');
  const { resources } = parse(await read('kustomization.yaml')) as { readonly resources: readonly string[] };
  const texts = await Promise.all(resources.map(read));
  const all = texts.map((text) => `${text.trim()}\n`).join('---\n');
  const named = all.replaceAll(/image: (mooring-\w+)$/gm, `image: registry.example.com/$1:${version}`);
  const isController = /(\/app\/controller\.cjs\n +args:\n( +)- run\n)/;
  return introduction + named.replace(isController, '$1$2- --cloud-provider=CLOUD\n');
}

if (import.meta.main) {
  for (const [file, text] of await renderBase(process.env['HELM'] ?? 'helm')) {
    await writeFile(join(deploy, 'base', file), text);
    console.log(`deploy/base/${file}`);
  }
  await writeFile(join(deploy, 'mooring.yaml'), await singleFile());
  console.log('deploy/mooring.yaml');
}
