import { Command, CommanderError, Option } from 'commander';
import { type FlagDefinition, type FlagDefinitions, type FlagKind, type FlagValues, keyOf } from './flag-definition.ts';
import { type FlagValue, parseValue } from './flag-value.ts';
import { suggestion } from './nearest.ts';

export type { FlagDefinition, FlagDefinitions, FlagValues } from './flag-definition.ts';

export interface ParsedFlags<D extends FlagDefinitions> {
  readonly ok: true;
  readonly values: FlagValues<D>;
  /** Names of the flags that were set by the command line or the environment. */
  readonly given: ReadonlySet<string>;
  /** The arguments that are not flags. */
  readonly operands: readonly string[];
  /** Warnings about flags without effect, for stderr or the log. */
  readonly warnings: readonly string[];
}

export interface RejectedFlags {
  readonly ok: false;
  /** `--help` or `-h` was given, which is no failure. */
  readonly help: boolean;
  /** Names the flag, the value and what was expected; empty for help. */
  readonly message: string;
}

export interface FlagDescription {
  readonly name: string;
  readonly short: string | undefined;
  readonly kind: FlagKind;
  /** As written on the command line; undefined when there is none. */
  readonly default: string | undefined;
  readonly env: string | undefined;
  readonly choices: readonly string[] | undefined;
  readonly help: string;
  readonly repeatable: boolean;
  readonly required: boolean;
  /** `ignored`: accepted with a warning. `refused`: an error, unless the value is the default. */
  readonly status: 'active' | 'ignored' | 'refused';
}

/** Defines a set of flags with their exact types. Throws a RangeError when a definition contradicts itself. */
export function defineFlags<const D extends FlagDefinitions>(definitions: D): D {
  for (const [name, definition] of Object.entries<FlagDefinition>(definitions)) {
    if (!/^(?!no-|help$)[a-z][a-z0-9-]*$/.test(name))
      throw new RangeError(`flag ${JSON.stringify(name)}: expected kebab-case, not help and not no-…`);
    for (const text of defaultTexts(definition)) {
      const parsed = parseValue(definition, text);
      if ('expected' in parsed)
        throw new RangeError(`--${name}: default ${JSON.stringify(text)}, expected ${parsed.expected}`);
    }
  }
  return definitions;
}

/** Some flags of a set, for a command that the others mean nothing to. */
export function pickFlags<D extends FlagDefinitions, const N extends keyof D & string>(
  definitions: D,
  ...names: readonly N[]
): Pick<D, N> {
  return Object.fromEntries(names.map((name) => [name, definitions[name]])) as unknown as Pick<D, N>;
}

/**
 * Parses a command line as Go's pflag does: `--flag`, `--flag=false`, `-v=2`, Go durations, comma lists, repeats, `_`
 * for `-`; a bool never uses the next argument as its value; the last of several values wins; `--` ends the flags. A
 * flag takes precedence over its environment variable, which takes precedence over the default.
 *
 * @param argv the arguments after the program and command names
 */
export function parseFlags<D extends FlagDefinitions>(
  definitions: D,
  argv: readonly string[],
  env: Readonly<Record<string, string | undefined>> = {},
): ParsedFlags<D> | RejectedFlags {
  const texts = new Map<string, string[]>();
  const command = createCommand(definitions, (name, text) => texts.set(name, [...(texts.get(name) ?? []), text]));
  try {
    command.parse(spelledOut(definitions, argv), { from: 'user' });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    if (error.code === 'commander.helpDisplayed') return { ok: false, help: true, message: '' };
    const message = error.message.replace(/^error: /, '').replaceAll('\n', ' ');
    const unknown = /^unknown option '--([^']+)'$/.exec(message)?.[1];
    return reject(unknown === undefined ? message : `${message}${suggestion(unknown, Object.keys(definitions), '--')}`);
  }
  return evaluate(definitions, texts, env, command.args);
}

function evaluate<D extends FlagDefinitions>(
  definitions: D,
  texts: ReadonlyMap<string, readonly string[]>,
  env: Readonly<Record<string, string | undefined>>,
  operands: readonly string[],
): ParsedFlags<D> | RejectedFlags {
  const values: Record<string, unknown> = {};
  const given = new Set<string>();
  const warnings: string[] = [];
  for (const [name, definition] of Object.entries<FlagDefinition>(definitions)) {
    const written = texts.get(name);
    const fromEnv = definition.env === undefined ? undefined : env[definition.env];
    const inEnv = written === undefined && fromEnv !== undefined && fromEnv !== '';
    const source = inEnv ? `--${name} (from ${definition.env})` : `--${name}`;
    const set = written ?? (inEnv ? [fromEnv] : undefined);
    if (set !== undefined) given.add(name);
    if (definition.required && (set === undefined || set.at(-1) === '')) {
      const alternative = definition.env === undefined ? '' : ` (or ${definition.env} in the environment)`;
      return reject(`--${name}: required${alternative}`);
    }
    const parsed = parseAll(definition, set ?? defaultTexts(definition));
    if ('expected' in parsed) {
      return reject(`${source}: ${JSON.stringify(parsed.text)}, expected ${parsed.expected}`);
    }
    values[keyOf(name)] = parsed.value;
    if (set === undefined) continue;
    if (definition.refused !== undefined && !sameAsDefault(definition, parsed.value)) {
      return reject(`${source}: ${JSON.stringify(set.join(','))} is refused: ${definition.refused}`);
    }
    if (definition.ignored !== undefined) warnings.push(`${source} has no effect: ${definition.ignored}`);
  }
  return { ok: true, values: values as FlagValues<D>, given, operands, warnings };
}

function reject(message: string): RejectedFlags {
  return { ok: false, help: false, message };
}

function isList(kind: FlagKind): boolean {
  return kind === 'list' || kind === 'repeat';
}

function parseAll(
  definition: FlagDefinition,
  texts: readonly string[],
): { readonly value: FlagValue | undefined } | { readonly text: string; readonly expected: string } {
  let value: FlagValue | undefined = isList(definition.kind) ? [] : undefined;
  for (const text of texts) {
    const parsed = parseValue(definition, text);
    if ('expected' in parsed) return { text, expected: parsed.expected };
    value = Array.isArray(value) && Array.isArray(parsed.value) ? [...value, ...parsed.value] : parsed.value;
  }
  return { value };
}

function defaultTexts(definition: FlagDefinition): readonly string[] {
  const { default: value, kind } = definition;
  if (value === undefined) return kind === 'bool' ? ['false'] : [];
  return Array.isArray(value) ? value.map(String) : [String(value)];
}

function sameAsDefault(definition: FlagDefinition, value: FlagValue | undefined): boolean {
  const standard = parseAll(definition, defaultTexts(definition));
  return 'value' in standard && JSON.stringify(standard.value) === JSON.stringify(value);
}

/** Adapts pflag's syntax for commander: bare bools get their value, `-v=2` loses the `=`, `_` in names becomes `-`. */
function spelledOut(definitions: FlagDefinitions, argv: readonly string[]): string[] {
  const byShort = new Map<string, string>();
  for (const [name, { short }] of Object.entries<FlagDefinition>(definitions))
    if (short !== undefined) byShort.set(short, name);
  const result: string[] = [];
  for (let at = 0; at < argv.length; at += 1) {
    const argument = argv[at]!;
    if (argument === '--') return [...result, ...argv.slice(at)];
    const long = /^--([^=]+)(=[\s\S]*)?$/.exec(argument);
    const short = /^-([A-Za-z])(=?)([\s\S]*)$/.exec(argument);
    const name = long ? long[1]!.replaceAll('_', '-') : short ? byShort.get(short[1]!) : undefined;
    const definition = name !== undefined && Object.hasOwn(definitions, name) ? definitions[name] : undefined;
    if (definition === undefined || name === undefined) {
      // Without the value, so that commander finds the flag that was meant.
      result.push(long ? `--${long[1]}` : argument);
      continue;
    }
    const value = long ? long[2]?.slice(1) : short![2] === '=' || short![3] !== '' ? short![3]! : undefined;
    if (value !== undefined) result.push(`--${name}=${value}`);
    else if (definition.kind === 'bool') result.push(`--${name}=true`);
    else if (definition.bare !== undefined) result.push(`--${name}=${definition.bare}`);
    else {
      result.push(`--${name}`);
      at += 1;
      if (at < argv.length) result.push(argv[at]!);
    }
  }
  return result;
}

/** A commander command with these flags, which prints nothing and never exits. `take` gets every value as written. */
function createCommand(definitions: FlagDefinitions, take: (name: string, text: string) => void): Command {
  const command = new Command()
    .exitOverride()
    .showSuggestionAfterError(false)
    .configureOutput({ writeOut: () => {}, writeErr: () => {} })
    .allowExcessArguments()
    .helpOption('-h, --help', 'show this text');
  for (const row of describeFlags(definitions)) {
    const long = `--${row.name} <${placeholders[row.kind]}>`;
    const option = new Option(row.short === undefined ? long : `-${row.short}, ${long}`);
    option.argParser((text: string) => take(row.name, text));
    command.addOption(option);
  }
  return command;
}

const placeholders: Readonly<Record<FlagKind, string>> = {
  string: 'text',
  bool: 'true|false',
  int: 'number',
  number: 'number',
  duration: 'duration',
  list: 'a,b,...',
  repeat: 'text',
};

/** The flags as rows, in the order of definition, for help and reference pages. */
export function describeFlags(definitions: FlagDefinitions): FlagDescription[] {
  return Object.entries<FlagDefinition>(definitions).map(([name, definition]) => {
    const written = defaultTexts(definition).join(',');
    return {
      name,
      short: definition.short,
      kind: definition.kind,
      default: written === '' || definition.required ? undefined : written,
      env: definition.env,
      choices: definition.choices,
      help: definition.help,
      repeatable: isList(definition.kind),
      required: definition.required ?? false,
      status: definition.refused !== undefined ? 'refused' : definition.ignored !== undefined ? 'ignored' : 'active',
    };
  });
}

/** Longer lists of choices would leave no room for the help texts. */
const maxColumn = 32;

export interface HelpOptions {
  readonly summary: string;
  readonly examples: readonly string[];
  readonly groupOf?: ((flag: string) => string | undefined) | undefined;
}

/** Help for people: usage, summary, the flags that do something, examples. */
export function helpText(
  definitions: FlagDefinitions,
  usage: string,
  { summary, examples, groupOf = () => undefined }: HelpOptions,
): string {
  const command = new Command().helpOption('-h, --help', 'show this text').configureHelp({ helpWidth: 110 });
  const [program = '', ...rest] = usage.split(' ');
  command.name(program).usage(rest.join(' ')).description(summary);
  for (const row of describeFlags(definitions)) {
    if (row.status !== 'active') continue;
    const choices = row.choices?.join('|') ?? '';
    const isShort = choices !== '' && choices.length <= maxColumn;
    const placeholder = isShort ? choices : placeholders[row.kind];
    const isOptional = definitions[row.name]?.bare !== undefined;
    const value = isOptional ? `[=${placeholder}]` : ` <${placeholder}>`;
    const long = `--${row.name}${row.kind === 'bool' ? '' : value}`;
    const notes = [
      row.required ? 'required' : '',
      choices === '' || isShort ? '' : `one of ${row.choices?.join(', ')}`,
      row.repeatable ? 'may be repeated' : '',
      row.default === undefined ? '' : `default ${row.default}`,
      row.env === undefined ? '' : `env ${row.env}`,
    ].filter(Boolean);
    const text = notes.length === 0 ? row.help : `${row.help} (${notes.join(', ')})`;
    const option = new Option(row.short === undefined ? long : `-${row.short}, ${long}`, text);
    const group = groupOf(row.name);
    command.addOption(group === undefined ? option : option.helpGroup(group));
  }
  const after = examples.length === 0 ? '' : `\nExamples:\n${examples.map((line) => `  ${line}\n`).join('')}`;
  return command.helpInformation() + after;
}
