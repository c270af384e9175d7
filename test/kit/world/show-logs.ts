import { readFile } from 'node:fs/promises';
import type { World } from './world.ts';

/** What the controllers said last, so that a failure can be understood where it happened. */
export async function showLogs(world: World, out: NodeJS.WritableStream): Promise<void> {
  for (const { name, child } of world.replicas) {
    const text = await readFile(child.logFile, 'utf8').catch(() => '');
    out.write(`--- last lines of ${name} (${child.logFile})\n${text.split('\n').slice(-15).join('\n')}\n`);
  }
}
