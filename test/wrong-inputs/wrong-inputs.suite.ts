import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { type WrongInput, wrongInputs } from './inputs.ts';
import { startWrongWorld, type WrongWorld } from './world.ts';

const root = join(import.meta.dirname, '../..');
/** A program that still runs then has not noticed. */
const limitMs = 30_000;
const secrets = /secret-word|x{64}/;

describe('a wrong input', { concurrency: 2 }, () => {
  let world: WrongWorld;
  const took = new Map<string, number>();
  before(async () => {
    world = await startWrongWorld();
  });
  after(async () => {
    await world.stop();
    const [slowest] = [...took].toSorted(([, a], [, b]) => b - a);
    console.log(`# the slowest of ${took.size}, ${slowest?.[0]}, took ${((slowest?.[1] ?? 0) / 1000).toFixed(1)} s`);
  });

  const placed = (text: string) => text.replaceAll(/\{([a-z ]+)\}/g, (_, name) => world.places.get(name)!);
  const pattern = ({ source, flags }: RegExp) =>
    new RegExp(
      source.replaceAll(/\{([a-z ]+)\}/g, (_, name) => world.places.get(name)!.replaceAll('.', '\\.')),
      flags,
    );

  const { PATH, NODE_COMPILE_CACHE } = process.env;
  async function run({ program, args, env = {} }: WrongInput): Promise<{ code: number | null; said: string }> {
    const own = Object.fromEntries(Object.entries(env).map(([name, value]) => [name, placed(value)]));
    const child = spawn(process.execPath, [join(root, program, 'main.ts'), ...args.map(placed)], {
      env: { PATH, NODE_COMPILE_CACHE, HOME: '/nonexistent', ...own },
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: limitMs,
      killSignal: 'SIGKILL',
    });
    let said = '';
    for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text) => (said += text));
    const code = await new Promise<number | null>((resolve) => child.once('close', resolve));
    return { code, said };
  }

  it('comes in more than 40 kinds', () => assert.ok(wrongInputs.length > 40));

  for (const input of wrongInputs)
    it(`names a wrong input, with what to do: ${input.title}`, async () => {
      const startedAt = performance.now();
      const { code, said } = await run(input);
      took.set(input.title, performance.now() - startedAt);
      assert.equal(code, input.code, said);
      assert.match(said, pattern(input.names));
      assert.match(said, pattern(input.next));
      assert.doesNotMatch(said, /^\s+at .*:\d+:\d+/m, 'a stack trace');
      assert.doesNotMatch(said, secrets);
    });
});
