import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import { maxMetadataBytes } from './client.ts';

/**
 * Reads a guestinfo value with VMware's own programs; undefined when neither is installed or the value does not exist.
 * Never throws.
 */
export type AskGuestinfo = (key: string, signal: AbortSignal) => Promise<string | undefined>;

type Program = readonly [program: string, argumentsOf: (query: string) => string[]];
const byCommand = (query: string) => ['--cmd', query];

const timeoutMs = 2000;
const maxBytes = maxMetadataBytes;
const unzip = promisify(gunzip);

/** Programs of VMware's tools. Our image has neither; a host usually has one. */
export const askGuestinfo = asking([
  ['vmware-rpctool', (query) => [query]],
  ['vmtoolsd', byCommand],
]);

/** The installer of the tools for Windows leaves the path alone. */
export const askGuestinfoOnWindows = asking([['C:\\Program Files\\VMware\\VMware Tools\\vmtoolsd.exe', byCommand]]);

function asking(programs: readonly Program[]): AskGuestinfo {
  return async (key, signal) => {
    for (const [program, argumentsOf] of programs) {
      const answer = await new Promise<string | undefined>((resolve) => {
        const options = { timeout: timeoutMs, maxBuffer: maxBytes, signal };
        execFile(program, argumentsOf(`info-get guestinfo.${key}`), options, (error, stdout) =>
          resolve(error ? undefined : stdout.trim()),
        );
      });
      if (answer !== undefined) return answer;
    }
    return undefined;
  };
}

/**
 * The text of a guestinfo document (cloud-init, "VMware"), decoded by its `.encoding`. Undefined when it does not
 * exist, is empty (`---`) or does not match its encoding.
 */
export async function readGuestinfo(ask: AskGuestinfo, key: string, signal: AbortSignal): Promise<string | undefined> {
  const text = await ask(key, signal);
  if (text === undefined || text === '' || text === '---') return undefined;
  const encoding = (await ask(`${key}.encoding`, signal))?.toLowerCase() ?? '';
  switch (encoding) {
    case '':
    case '---':
      return text;
    case 'base64':
    case 'b64':
      return Buffer.from(text, 'base64').toString('utf8');
    case 'gzip+base64':
    case 'gz+b64':
      try {
        return (await unzip(Buffer.from(text, 'base64'), { maxOutputLength: maxBytes })).toString('utf8');
      } catch {
        return undefined;
      }
    default:
      return undefined;
  }
}
