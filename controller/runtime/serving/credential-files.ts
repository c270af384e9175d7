import { createPrivateKey, X509Certificate } from 'node:crypto';
import type { Clock, Timer } from '../../../common/process/clock.ts';
import { errorFields, type Log } from '../../../common/process/log.ts';
import type { ServingCredentials } from './credentials.ts';

export interface CredentialFiles {
  readonly certFile: string;
  readonly keyFile: string;
}

export interface CredentialFilesOptions extends CredentialFiles {
  readonly clock: Clock;
  readonly log: Log;
  /** `node:fs/promises` readFile, or a test's. */
  readFile(path: string): Promise<string>;
  /** Called when a complete pair differs from the previous one. */
  onChange(credentials: ServingCredentials): void;
  /** Default one minute. */
  readonly intervalMs?: number;
}

export interface WatchedCredentials {
  readonly credentials: ServingCredentials;
  stop(): void;
}

/** Reads a certificate and its key, and checks that they belong together. @throws Error naming the invalid file */
export async function readCredentialFiles(
  { certFile, keyFile }: CredentialFiles,
  readFile: CredentialFilesOptions['readFile'],
): Promise<ServingCredentials> {
  const cert = await readFile(certFile);
  const key = await readFile(keyFile);
  const certificate = parsed(certFile, 'a PEM certificate', () => new X509Certificate(cert));
  const privateKey = parsed(keyFile, 'a PEM private key', () => createPrivateKey(key));
  if (!certificate.checkPrivateKey(privateKey)) throw new Error(`${keyFile}: not the key of ${certFile}`);
  return { cert, key };
}

function parsed<T>(file: string, expected: string, parse: () => T): T {
  try {
    return parse();
  } catch (cause) {
    throw new Error(`${file}: expected ${expected}`, { cause });
  }
}

/**
 * Reads the pair now and again every minute. A pair that cannot be read, or is half replaced, is ignored until the next
 * read.
 * @throws Error when the first read fails
 */
export async function watchCredentialFiles(options: CredentialFilesOptions): Promise<WatchedCredentials> {
  const { clock, log, readFile, onChange, intervalMs = 60_000 } = options;
  let current = await readCredentialFiles(options, readFile);
  let timer: Timer | undefined;
  let stopped = false;

  async function check(): Promise<void> {
    try {
      const found = await readCredentialFiles(options, readFile);
      if (stopped || (found.cert === current.cert && found.key === current.key)) return;
      current = found;
      log.info('serving certificate reloaded', { file: options.certFile });
      onChange(found);
    } catch (error) {
      log.warn('serving certificate not reloaded', { file: options.certFile, ...errorFields(error) });
    }
  }

  function schedule(): void {
    if (stopped) return;
    timer = clock.setTimer(intervalMs, () => void check().finally(schedule));
  }
  schedule();

  return {
    get credentials() {
      return current;
    },
    stop() {
      stopped = true;
      timer?.cancel();
    },
  };
}
