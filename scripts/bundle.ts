import { rm } from 'node:fs/promises';
import { type BuildOptions, build, type Metafile } from 'esbuild';

/**
 * One file a program, as CommonJS: importing node:http as an ES module costs some 15 MiB of memory, and type stripping at start 300 ms.
 */
const common: BuildOptions = {
  bundle: true,
  platform: 'node',
  target: 'node24',
  format: 'cjs',
  minify: true,
  legalComments: 'none',
  metafile: true,
  logLevel: 'warning',
  absWorkingDir: new URL('..', import.meta.url).pathname,
};

/** Builds `agent/main.ts` into one executable file. Answers what went into it. */
export async function bundleAgent(outfile: string): Promise<Metafile> {
  await rm(outfile, { force: true });
  const { metafile } = await build({
    ...common,
    entryPoints: ['agent/main.ts'],
    outfile,
    // The part that agent/host-facts.ts uses. The whole library is more than half of the bundle and a mebibyte of the memory of every agent.
    alias: { systeminformation: 'systeminformation/lib/memory.js' },
    banner: { js: '#!/usr/bin/env node' },
  });
  return metafile!;
}
