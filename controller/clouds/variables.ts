import { flagOf } from './annotation-reader.ts';
import { CloudConfigError, type CloudConfigFile } from './cloud.ts';
import { isPlainUrl, plainUrlExpected } from './plain-url.ts';
import { readYaml } from './yaml-text.ts';

/** Answers the text of a file, undefined where there is none: `readText` of `configFilesOf`. */
export type ReadText = (path: string) => Promise<string | undefined>;

export interface VariablesOptions {
  /** The cloud's name, for errors. */
  readonly cloud: string;
  /** A YAML file whose keys are the names of the variables; its values win over the environment. */
  readonly file: CloudConfigFile | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Where an unknown key of the file is refused: `variables of the hcloud-cloud-controller-manager (HCLOUD_TOKEN)`. */
  readonly expected: string;
  readonly readText: ReadText;
}

/**
 * The environment variables of a classic controller, or the file that has them. A bad value is recorded and replaced
 * by the default, so that `finish` can report all of them together; no secret is shown.
 */
export interface Variables {
  /** Undefined for an empty value. */
  text(name: string): string | undefined;
  /** Undefined for an empty value, too. */
  matching(name: string, pattern: RegExp, expected: string): string | undefined;
  /** As Go's ParseBool reads it. */
  flag(name: string, without: boolean): boolean;
  /** Without a slash at the end. */
  url(name: string, without: string): string;
  /** One word, from the variable or from the file that the variable `NAME_FILE` names. */
  secret(name: string): Promise<string | undefined>;
  /** Takes note of a bad value. @returns `instead` */
  wrong<Value>(name: string, expected: string, instead: Value, shown?: string): Value;
  /** Every file that a secret was read from. */
  readonly files: readonly string[];
  /** @throws CloudConfigError with every bad value, or with the keys of the file that nothing has asked for */
  finish(): void;
}

const hidden = 'a wrong value (not shown)';

/** @throws CloudConfigError where the file cannot be read as names and values */
export function readVariables(options: VariablesOptions): Variables {
  const { cloud, file, env, expected, readText } = options;
  const fromFile = file === undefined ? new Map<string, unknown>() : readFile(file);
  const asked = new Set<string>();
  const problems: string[] = [];
  const files: string[] = [];
  const text = (name: string) => {
    asked.add(name);
    const value = fromFile.get(name) ?? env[name];
    return typeof value === 'string' && value !== '' ? value : undefined;
  };

  const placeOf = (name: string) => (fromFile.has(name) ? `${file!.path}: ${name}` : name);
  function wrong<Value>(name: string, expected: string, instead: Value, shown = JSON.stringify(text(name))): Value {
    problems.push(`${placeOf(name)}: ${shown}, expected ${expected}`);
    return instead;
  }
  function inOneLine(name: string, value: string | undefined, shown = hidden): string | undefined {
    // A header takes no line breaks and no other control characters.
    if (value === undefined || /^[\x21-\x7e]+$/.test(value)) return value;
    return wrong(name, 'one word of ASCII characters', undefined, shown);
  }

  return {
    text,
    wrong,
    files,
    matching(name, pattern, expected) {
      const value = text(name);
      return value === undefined || pattern.test(value) ? value : wrong(name, expected, undefined);
    },
    flag(name, without) {
      const value = text(name);
      if (value === undefined) return without;
      return flagOf(value) ?? wrong(name, 'true or false', without);
    },
    url(name, without) {
      const value = text(name) ?? without;
      if (isPlainUrl(value)) return value.replace(/\/+$/, '');
      problems.push(`${placeOf(name)}: ${plainUrlExpected}`);
      return without;
    },
    async secret(name) {
      const path = text(`${name}_FILE`);
      if (path === undefined) return inOneLine(name, text(name));
      // The path is not shown: it may be the secret itself, given by the wrong variable.
      const badFile = (expected: string) => wrong(`${name}_FILE`, expected, undefined, hidden);
      if (text(name) !== undefined) return badFile(`${name} or ${name}_FILE, not both`);
      files.push(path);
      const content = await readText(path).catch(() => undefined);
      if (content === undefined) return badFile('the path of a file that can be read');
      const word = content.trim();
      return inOneLine(
        `${name}_FILE`,
        word,
        word === '' ? 'the file is empty' : 'a wrong text in the file (not shown)',
      );
    },
    finish() {
      const unknown = [...fromFile.keys()].filter((name) => !asked.has(name)).map((name) => JSON.stringify(name));
      if (unknown.length > 0)
        throw new CloudConfigError(`${file!.path}: unknown ${unknown.join(', ')}, expected ${expected}`);
      const nested = [...fromFile.keys()].find((name) => typeof fromFile.get(name) !== 'string');
      if (nested !== undefined) throw new CloudConfigError(`${placeOf(nested)}: ${hidden}, expected one value`);
      if (problems.length > 0) throw new CloudConfigError(`${cloud}: ${problems.join('; ')}`);
    },
  };
}

/** A value that is no text is of a list or a mapping. */
function readFile({ path, text }: CloudConfigFile): Map<string, unknown> {
  const read = readYaml(text);
  const content = 'content' in read ? (read.content ?? {}) : undefined;
  if (typeof content !== 'object' || content === null || Array.isArray(content))
    throw new CloudConfigError(`${path}: no YAML mapping, expected the names of variables and their values`);
  const isNull = (value: unknown) => typeof value === 'string' && /^(~|null)$/i.test(value);
  return new Map(Object.entries(content).map(([name, value]) => [name, isNull(value) ? '' : value]));
}
