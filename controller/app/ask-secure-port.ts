import type { IncomingMessage } from 'node:http';
import { get } from 'node:https';
import { visibleText } from '../../common/visible-text.ts';
import { OptionError } from './options/options.ts';

/** Asks a controller, and resolves once it begins to answer. Throws an Error that says why it does not. */
export type AskSecurePort = () => Promise<IncomingMessage>;

const timeoutMs = 5_000;
const longestRefusal = 4096;
const loopback: ReadonlySet<string> = new Set(['127.0.0.1', '[::1]', 'localhost']);

/**
 * Asks at an address of this machine, such as the end of a `kubectl port-forward`. The certificate is not verified,
 * since a controller signs its own: the token would go to any server that answers, so no other machine is asked.
 * Throws an OptionError for another address.
 *
 * @param what the path without its slash, and the beginning of the flags `--WHAT-url` and `--WHAT-token-file`
 * @param readToken the token of an account that may `get` the path; read for each request
 */
export function askSecurePort(
  what: 'metrics' | 'reports',
  url: string,
  readToken: () => Promise<string>,
): AskSecurePort {
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  if (parsed?.protocol !== 'https:' || !loopback.has(parsed.hostname))
    throw new OptionError(`--${what}-url: ${JSON.stringify(url)}, expected https://127.0.0.1:PORT/${what}`);
  return async () => {
    const token = (await readToken()).trim();
    const headers = token === '' ? {} : { authorization: `Bearer ${token}` };
    const answer = await new Promise<IncomingMessage>((resolve, reject) => {
      const request = get(parsed, { headers, rejectUnauthorized: false, agent: false, timeout: timeoutMs }, resolve);
      request.on('timeout', () => request.destroy(new Error(`no answer within ${timeoutMs / 1000} s`)));
      request.on('error', reject);
    });
    if (answer.statusCode !== 200) throw new Error(await refusal(what, answer, token));
    return answer;
  };
}

async function refusal(what: string, answer: IncomingMessage, token: string): Promise<string> {
  const { statusCode = 0 } = answer;
  let text = '';
  for await (const part of answer.setEncoding('utf8')) {
    text += part;
    if (text.length > longestRefusal) break;
  }
  if (token === '' && (statusCode === 401 || statusCode === 403))
    return `may not read without a token: expected one in --${what}-token-file (${statusCode})`;
  if (statusCode === 401) return `may not read: the token of --${what}-token-file was refused (401)`;
  if (statusCode === 403) return `may not read: the account of --${what}-token-file may not get /${what} (403)`;
  return `the controller answered ${statusCode}${messageOf(text)}`;
}

/** Of a Kubernetes Status object. */
function messageOf(text: string): string {
  try {
    const { message } = JSON.parse(text) as { message?: unknown };
    return typeof message === 'string' ? `: ${visibleText(message)}` : '';
  } catch {
    return '';
  }
}
