import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Metafile } from 'esbuild';
import { bundleAgent } from '../bundle.ts';
import { injectResource } from './inject-resource.ts';

/** What Node looks for in its own program (Single executable applications, in its documentation). */
const resource = 'NODE_SEA_BLOB';
const fuse = 'NODE_SEA_FUSE_fce680ab2cc467b6e072b8b5df1996b2:';

/** As in the image for Linux: the agent is small, and shall stay it. */
export const nodeArguments = ['--lite-mode', '--max-old-space-size=24', '--max-semi-space-size=1'] as const;

/**
 * The agent as one program for Windows: the runtime with the bundle inside. The same sources and runtime give the same
 * bytes. It is not signed.
 *
 * @param runtime node.exe of the very version that runs this
 */
export async function agentExecutable(
  runtime: Uint8Array,
): Promise<{ readonly program: Buffer; readonly metafile: Metafile }> {
  const folder = await mkdtemp(join(tmpdir(), 'mooring-windows-'));
  try {
    const metafile = await bundleAgent(join(folder, 'agent.cjs'));
    const config = {
      main: 'agent.cjs',
      output: 'agent.blob',
      disableExperimentalSEAWarning: true,
      // Both would be of this platform.
      useSnapshot: false,
      useCodeCache: false,
      execArgv: nodeArguments,
      execArgvExtension: 'none',
    };
    await writeFile(join(folder, 'config.json'), JSON.stringify(config));
    // Names without a folder: the blob contains them.
    await promisify(execFile)(process.execPath, ['--experimental-sea-config', 'config.json'], { cwd: folder });
    const content = await readFile(join(folder, 'agent.blob'));
    return { program: withFuse(injectResource(runtime, { name: resource, content })), metafile };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Tells Node to look for the resource. Throws unless the program has the fuse once, and unset. */
function withFuse(program: Buffer): Buffer {
  const at = program.indexOf(`${fuse}0`);
  if (at < 0 || program.indexOf(fuse, at + 1) >= 0) throw new RangeError(`the runtime: not one ${fuse}0`);
  program.write('1', at + fuse.length, 'latin1');
  return program;
}
