import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { build, type Metafile } from 'esbuild';
import type { PageFiles } from '../controller/commands/ui/page-files.ts';

const root = join(import.meta.dirname, '..');
const folder = join(root, 'controller/commands/ui/page');

/** Builds the page of `mooring-controller ui`: one script and one stylesheet, for browsers of the last two years. */
export async function buildPage(): Promise<PageFiles & { readonly metafile: Metafile }> {
  const common = { bundle: true, minify: true, write: false, target: 'es2024', charset: 'ascii' } as const;
  const built = await build({
    ...common,
    entryPoints: [join(folder, 'main.tsx'), join(folder, 'page.css')],
    outdir: 'page',
    format: 'iife',
    jsx: 'automatic',
    jsxImportSource: 'preact',
    tsconfigRaw: {},
    metafile: true,
    absWorkingDir: root,
    legalComments: 'none',
    logLevel: 'warning',
  });
  const output = (ending: string) => built.outputFiles.find(({ path }) => path.endsWith(ending))?.text ?? '';
  const [html, icon] = await Promise.all(
    ['index.html', 'icon.svg'].map((name) => readFile(join(folder, name), 'utf8')),
  );
  return { html: html!, icon: icon!, script: output('.js'), style: output('.css'), metafile: built.metafile };
}
