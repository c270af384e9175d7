import { readFile } from 'node:fs/promises';
import { fileProblem } from '../../../common/process/file-problem.ts';
import { readTrust, type Trust, type TrustFile } from '../../reports/attestation/trust.ts';
import { OptionError } from './options.ts';

const flag = 'attestation-trust';

/** Reads the files of `--attestation-trust`. Throws an OptionError that names the flag. */
export async function readTrustFiles(given: readonly string[]): Promise<Trust> {
  const files: TrustFile[] = [];
  for (const text of given) {
    const at = text.indexOf('=');
    const name = text.slice(0, at);
    const wrong = (expected: string) => new OptionError(`--${flag}: ${JSON.stringify(text)}, expected ${expected}`);
    if (files.some((file) => file.name === name)) throw wrong(`${name} once`);
    let content: string;
    try {
      content = await readFile(text.slice(at + 1), 'utf8');
    } catch (error) {
      throw wrong(`a file that can be read: ${fileProblem(error)}`);
    }
    const file = { name, text: content };
    try {
      readTrust([file]);
    } catch (error) {
      throw wrong(error instanceof Error ? error.message : String(error));
    }
    files.push(file);
  }
  return readTrust(files);
}
