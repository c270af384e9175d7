import { askSecurePort } from '../../app/ask-secure-port.ts';

/** Reads the metrics of a controller in the text form of Prometheus. Throws an Error that says why it cannot. */
export type ReadMetrics = () => Promise<string>;

const maxLength = 16 * 1024 * 1024;

/** As `askSecurePort`. */
export function metricsAt(url: string, readToken: () => Promise<string>): ReadMetrics {
  const ask = askSecurePort('metrics', url, readToken);
  return async () => {
    let text = '';
    for await (const part of (await ask()).setEncoding('utf8')) {
      text += part;
      if (text.length > maxLength) throw new Error(`the metrics exceed ${maxLength} characters`);
    }
    return text;
  };
}
