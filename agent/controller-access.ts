import { readFile } from 'node:fs/promises';
import { pemCertificates } from '../common/pem-certificates.ts';
import type { Clock } from '../common/process/clock.ts';
import { createHttp, type Http } from '../common/process/http.ts';
import type { Log } from '../common/process/log.ts';

export interface ControllerAccessOptions {
  readonly clock: Clock;
  readonly log: Log;
  /** Tried after those of the file. */
  readonly urls: readonly string[];
  readonly urlFile: string | undefined;
  readonly tokenFile: string;
  readonly caFile: string;
  /** The name that the controller's certificate must have, independently of the address. */
  readonly serverName: string;
}

/** The current token, URLs and HTTP client for reports. */
export interface Access {
  readonly ok: true;
  readonly http: Http;
  readonly token: string;
  readonly urls: readonly string[];
}

/** Why reports cannot be sent yet. */
export interface NoAccess {
  readonly ok: false;
  readonly message: string;
}

/**
 * Reads token, CA and URLs again for each report, because the kubelet renews these files. Connections trust only the CA
 * of the file: without one there is no access, and the system's roots are never used.
 */
export interface ControllerAccess {
  current(): Promise<Access | NoAccess>;
  close(): void;
}

export function createControllerAccess(options: ControllerAccessOptions): ControllerAccess {
  const { clock, log, urls, urlFile, tokenFile, caFile, serverName } = options;
  let connection: { readonly ca: string; readonly http: Http; close(): void } | undefined;
  let knownUrlText: string | undefined;
  let urlFault = '';

  function httpFor(ca: string): Http {
    if (connection?.ca === ca) return connection.http;
    if (connection !== undefined) log.info('the CA file changed', { file: caFile });
    connection?.close();
    connection = { ca, ...createHttp({ clock, tls: { ca, servername: serverName } }) };
    return connection.http;
  }

  async function listUrls(): Promise<readonly string[]> {
    if (urlFile === undefined) return urls;
    const { text, fault } = await readText(urlFile);
    const { valid, bad } = parseUrlLines(text);
    urlFault = fault ?? 'it names none';
    if (text !== knownUrlText) {
      for (const line of bad) log.warn('controller URL left out, expected https://host:port', { file: urlFile, line });
      log.debug('controller URLs', { urls: valid });
    }
    knownUrlText = text;
    return [...new Set([...valid, ...urls])];
  }

  return {
    async current() {
      const ca = await readText(caFile);
      const caFault = ca.fault ?? certificateFault(ca.text);
      if (caFault !== undefined) return waiting('a CA certificate', caFile, caFault);
      const read = await readText(tokenFile);
      const token = read.text.trim();
      if (token === '') return waiting('a token', tokenFile, read.fault ?? 'it is empty');
      // Other characters are not valid in a header.
      if (!/^[\x21-\x7e]+$/.test(token)) return waiting('a token', tokenFile, 'it holds more than one word');
      const all = await listUrls();
      if (all.length === 0) return waiting('a controller URL', urlFile ?? 'no file', urlFault);
      return { ok: true, http: httpFor(ca.text), token, urls: all };
    },
    close: () => connection?.close(),
  };
}

/** Why the text has no valid certificate. */
function certificateFault(text: string): string | undefined {
  try {
    return pemCertificates(text).length === 0 ? 'it holds none' : undefined;
  } catch {
    return 'it holds one that cannot be read';
  }
}

function waiting(what: string, file: string, why: string): NoAccess {
  return { ok: false, message: `waiting for ${what} in ${file}: ${why}` };
}

/** The text of the file; empty, with the fault, when it cannot be read. */
async function readText(file: string): Promise<{ readonly text: string; readonly fault?: string }> {
  try {
    return { text: await readFile(file, 'utf8') };
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    return { text: '', fault: code ?? message };
  }
}

/** Parses one URL per line; ignores blank lines and lines that begin with `#`. Pure. */
export function parseUrlLines(text: string): { readonly valid: readonly string[]; readonly bad: readonly string[] } {
  const lines = text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('#'));
  return { valid: lines.filter(isControllerUrl), bad: lines.filter((line) => !isControllerUrl(line)) };
}

/** Whether a report may be sent to this URL: https, a host, no user and password. */
export function isSafeUrl(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, username, password, hostname } = new URL(text);
  return protocol === 'https:' && hostname !== '' && username === '' && password === '';
}

/** As `isSafeUrl`, and without a path, since the path of a report is fixed. */
export function isControllerUrl(text: string): boolean {
  if (!isSafeUrl(text)) return false;
  const { pathname, search, hash } = new URL(text);
  return pathname === '/' && search === '' && hash === '';
}
