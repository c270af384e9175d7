import type { CommandBlock } from './blocks.ts';
import { matchesOutput } from './matches-output.ts';
import type { SandboxProcess } from './sandbox-process.ts';
import type { Shell } from './shell.ts';

export interface PageRun {
  readonly shell: Shell;
  readonly blocks: readonly CommandBlock[];
  /** Turns names of the reader's cluster into those of the sandbox. */
  readonly translate: (command: string) => string;
  /** Starts a sandbox that stays up. */
  readonly startSandbox: (command: string) => Promise<SandboxProcess>;
  /** The line that leads to a cluster on the fake of a cloud. */
  readonly cloudCluster: (cloud: string) => Promise<string>;
  readonly say: (line: string) => void;
}

export interface PageCounts {
  readonly passed: number;
  readonly failures: readonly string[];
  readonly notRun: number;
}

const keepsSandbox = /^npm run -s sandbox .*--(?:keep|ui)\b/;
/** Commands that go on until they are interrupted. */
const goesOn = /^mooring-controller (?:ui|status --watch)\b|^kubectl get .* -w\b|^kubectl .*port-forward\b/;
/** Commands of our program with the credential of a cloud. */
const onCloud = /^(?:mooring-controller|npm run -s controller --) .*--cloud-provider=(aws|openstack)\b/;
/** Commands that ask on the terminal, and what a person types. */
const asks: readonly (readonly [RegExp, string])[] = [[/^mooring-controller teardown\b/, 'kubernetes']];
const limitMs = 180_000;

/** Runs the commands of a page in their order; after a failure the rest of that page is not run. */
export async function runPage({
  shell,
  blocks,
  translate,
  startSandbox,
  cloudCluster,
  say,
}: PageRun): Promise<PageCounts> {
  let passed = 0;
  let notRun = 0;
  let sandbox: SandboxProcess | undefined;
  const failures: string[] = [];

  async function runCommand(written: string, prints: string | undefined): Promise<void> {
    if (keepsSandbox.test(written)) {
      await endSandbox();
      sandbox = await startSandbox(written);
      await shell.run(sandbox.exportLine, limitMs);
      return;
    }
    const cloud = onCloud.exec(written.trimStart())?.[1];
    const typed = asks.find(([command]) => command.test(written))?.[1];
    const words = typed === undefined ? translate(written) : typing(typed, translate(written));
    const command = cloud === undefined ? words : `( ${await cloudCluster(cloud)}; ${words} )`;
    if (goesOn.test(command)) {
      for (const seconds of [5, 60]) {
        const { code, output } = await shell.run(`timeout --signal=INT --kill-after=10 ${seconds} ${command}`, limitMs);
        if (code === 124 && output.trim() !== '') return;
        // A busy machine may need longer to the first line.
        if (code !== 124 || seconds === 60) throw new Error(`it did not go on (exit code ${code}):\n${output}`);
      }
      return;
    }
    const { code, output } = await shell.run(command, limitMs);
    if (code !== 0) throw new Error(`exit code ${code}:\n${output}`);
    if (prints !== undefined && !matchesOutput(prints, output))
      throw new Error(`the page shows\n${prints}\nand it printed\n${output}`);
  }

  async function endSandbox(): Promise<void> {
    const ending = sandbox;
    sandbox = undefined;
    await ending?.stop();
  }

  let now = '';
  try {
    for (const { line, commands, prints, notRun: why } of blocks) {
      if (why !== undefined) {
        notRun += commands.length;
        say(`  not run: line ${line}: ${why}`);
        continue;
      }
      for (const [at, command] of commands.entries()) {
        now = `line ${line + 1 + at}: ${command}`;
        await runCommand(command, at === commands.length - 1 ? prints : undefined);
        say(`  ok  ${command.trim().split('\n')[0]}`);
        passed += 1;
      }
    }
    now = 'the end of the page';
    await endSandbox();
  } catch (error) {
    failures.push(`${now}: ${error instanceof Error ? error.message : String(error)}`);
    await endSandbox().catch((reason: unknown) => failures.push(String(reason)));
  }
  return { passed, failures, notRun };
}

/** Runs the command on a terminal, and types one line. */
function typing(line: string, command: string): string {
  return `printf '%s\\n' '${line}' | script --quiet --return --flush --command '${command}' /dev/null`;
}
