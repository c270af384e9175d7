import { get } from 'node:https';
import { OptionError } from '../../app/options/options.ts';

/** Reads the metrics of a controller in the text form of Prometheus. Throws an Error that says why it cannot. */
export type ReadMetrics = () => Promise<string>;

const timeoutMs = 5_000;
const maxBytes = 16 * 1024 * 1024;
const loopback: ReadonlySet<string> = new Set(['127.0.0.1', '[::1]', 'localhost']);

/**
 * Reads them from an address of this machine, such as the end of a `kubectl port-forward`. The certificate is not
 * verified, since a controller signs its own: the token would go to any server that answers, so no other machine is
 * asked.
 * Throws an OptionError for another address.
 *
 * @param readToken the token of an account that may `get` the path; read for each request
 */
export function metricsAt(url: string, readToken: () => Promise<string>): ReadMetrics {
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  if (parsed?.protocol !== 'https:' || !loopback.has(parsed.hostname))
    throw new OptionError(`--metrics-url: ${JSON.stringify(url)}, expected https://127.0.0.1:PORT/metrics`);
  return async () => {
    const token = (await readToken()).trim();
    return new Promise<string>((resolve, reject) => {
      const headers = token === '' ? {} : { authorization: `Bearer ${token}` };
      const request = get(
        parsed,
        { headers, rejectUnauthorized: false, agent: false, timeout: timeoutMs },
        (answer) => {
          const parts: Buffer[] = [];
          let length = 0;
          answer.on('error', reject);
          answer.on('data', (part: Buffer) => {
            length += part.length;
            if (length > maxBytes) request.destroy(new Error(`the metrics exceed ${maxBytes} bytes`));
            else parts.push(part);
          });
          answer.on('end', () => {
            if (answer.statusCode === 200) resolve(Buffer.concat(parts).toString('utf8'));
            else reject(new Error(refusal(answer.statusCode ?? 0)));
          });
        },
      );
      request.on('timeout', () => request.destroy(new Error(`no answer within ${timeoutMs / 1000} s`)));
      request.on('error', reject);
    });
  };
}

function refusal(status: number): string {
  if (status === 401) return 'may not read: the token of --metrics-token-file was refused (401)';
  if (status === 403) return 'may not read: the account of --metrics-token-file may not get /metrics (403)';
  return `the controller answered ${status}`;
}
