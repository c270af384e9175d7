import { readFile } from 'node:fs/promises';
import type { Plugin } from 'esbuild';

const schemas = /\/@aws-sdk\/client-[^/]+\/.*\/schemas_\d+\.js$/;
const constant = /^const (\w+) = ("[^"\n]*");$/gm;
const computedKey = /\[(\w+)\](?=:)/g;

/**
 * With the ES modules of AWS's clients: lets esbuild leave out the shapes that no call here uses. Each client describes
 * all shapes of its API in one module; EC2's cost a leader 37 MiB of memory and a third of a second at start. esbuild
 * keeps an object with a computed key, because computing it could have an effect, and with it whatever that object
 * refers to. Every such key is a constant text of the same module; here it is written out.
 */
export const leaveUnusedShapesOut: Plugin = {
  name: 'leave unused shapes out',
  setup({ onLoad }) {
    onLoad({ filter: schemas }, async ({ path }) => ({ contents: withWrittenKeys(await readFile(path, 'utf8')) }));
  },
};

function withWrittenKeys(source: string): string {
  const texts = new Map(Array.from(source.matchAll(constant), ([, name, text]) => [name, text]));
  return source.replaceAll(computedKey, (key, name) => texts.get(name) ?? key);
}
