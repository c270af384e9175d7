import type { FlagDefinitions, FlagValues } from './flag-definition.ts';
import { helpText, parseFlags } from './flags.ts';
import { suggestion } from './nearest.ts';

/** The parts of the process that a program may use. */
export interface ProgramIo {
  /** The arguments after the program's name. */
  readonly argv: readonly string[];
  /** As the person calls it, for messages; given to commands. */
  readonly program?: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  stdout(text: string): void;
  stderr(text: string): void;
}

export interface CommandInput<D extends FlagDefinitions> {
  readonly values: FlagValues<D>;
  /** Names of the flags that were set, by the command line or the environment. */
  readonly given: ReadonlySet<string>;
  readonly operands: readonly string[];
  readonly io: ProgramIo;
}

export interface CommandDefinition<D extends FlagDefinitions = FlagDefinitions> {
  readonly summary: string;
  /** Names of the positional arguments, in order; all are required. The last one may be repeated: `name...`. */
  readonly operands?: readonly string[];
  readonly flags: D;
  readonly examples: readonly string[];
  /** The title under which the help lists a flag. Default: one list of all. */
  readonly groupOf?: (flag: string) => string | undefined;
  /** Returns the exit code: 0 done, 1 failed or incomplete, 2 bad flag or configuration. */
  run(input: CommandInput<D>): Promise<number>;
}

export interface ProgramDefinition {
  readonly name: string;
  readonly version: string;
  readonly summary: string;
  /** By name, in the order of the help. */
  readonly commands: Readonly<Record<string, CommandDefinition>>;
}

/** Defines a command, with the types of its flags for `run`. */
export function defineCommand<const D extends FlagDefinitions>(command: CommandDefinition<D>): CommandDefinition {
  return command as unknown as CommandDefinition;
}

/** Runs the command of the arguments and returns the exit code; never ends the process itself. */
export async function runProgram(program: ProgramDefinition, io: ProgramIo): Promise<number> {
  const [first, second] = io.argv;
  const [name, ...argv] = first === 'help' && second !== undefined ? [second, '--help'] : io.argv;
  if (name === '--version' || name === 'version') {
    io.stdout(`${program.name} ${program.version}\n`);
    return 0;
  }
  if (name === undefined || name === '--help' || name === '-h' || name === 'help') {
    (name === undefined ? io.stderr : io.stdout)(overview(program));
    return name === undefined ? 2 : 0;
  }
  const command = Object.hasOwn(program.commands, name) ? program.commands[name] : undefined;
  if (command === undefined) {
    const known = Object.keys(program.commands);
    const expected = `expected one of ${known.join(', ')}${suggestion(name, known)}`;
    io.stderr(`${program.name}: command ${JSON.stringify(name)}, ${expected}\n`);
    return 2;
  }
  const title = `${program.name} ${name}`;
  const operandNames = command.operands ?? [];
  const parsed = parseFlags(command.flags, argv, io.env);
  if (!parsed.ok) {
    if (!parsed.help) {
      io.stderr(`${title}: ${parsed.message}${otherCommands(program, parsed.message)}\n`);
      return 2;
    }
    const usage = [title, '[flags]', ...operandNames.map((operand) => operand.toUpperCase())].join(' ');
    const examples = command.examples.map((line) => line.replace(/^mooring-\S+/, program.name));
    io.stdout(helpText(command.flags, usage, { ...command, examples }));
    return 0;
  }
  if (!takesOperands(command, parsed.operands.length)) {
    const expected =
      operandNames.length === 0 ? 'no arguments' : operandNames.map((operand) => operand.toUpperCase()).join(' ');
    io.stderr(`${title}: ${JSON.stringify(parsed.operands.join(' '))}, expected ${expected}\n`);
    return 2;
  }
  for (const warning of parsed.warnings) io.stderr(`${title}: warning: ${warning}\n`);
  const { values, given, operands } = parsed;
  return command.run({ values, given, operands, io: { ...io, program: program.name } });
}

/** Of a flag that this command does not know: the commands that do. */
function otherCommands({ commands }: ProgramDefinition, message: string): string {
  const flag = /^unknown option '--([a-z-]+)/.exec(message)?.[1] ?? '';
  const others = Object.entries(commands).filter(([, { flags }]) => Object.hasOwn(flags, flag));
  return others.length === 0 ? '' : `, which is a flag of ${others.map(([command]) => command).join(', ')}`;
}

/** Whether the command takes so many positional arguments. */
export function takesOperands({ operands = [] }: Pick<CommandDefinition, 'operands'>, count: number): boolean {
  return count === operands.length || (count > operands.length && operands.at(-1)?.endsWith('...') === true);
}

function overview({ name, summary, commands }: ProgramDefinition): string {
  const width = Math.max(...Object.keys(commands).map((command) => command.length));
  const rows = Object.entries(commands).map(([command, { summary: text }]) => `  ${command.padEnd(width)}  ${text}\n`);
  return (
    `${summary}\n\nUsage: ${name} COMMAND [flags]\n\nCommands:\n${rows.join('')}\n${name} COMMAND --help shows ` +
    `a command's flags.\n`
  );
}
