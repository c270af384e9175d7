import { readFile } from 'node:fs/promises';
import { defineFlags, type FlagValues } from '../../../common/process/flags.ts';
import { metricsAt, type ReadMetrics } from './read-metrics.ts';

export const metricsFlags = defineFlags({
  'metrics-url': {
    kind: 'string',
    default: '',
    help:
      'Where this machine reaches the metrics of the leader: https://127.0.0.1:PORT/metrics, the end of a kubectl ' +
      'port-forward. Empty: what they alone tell about clouds is not shown.',
  },
  'metrics-token-file': {
    kind: 'string',
    default: '',
    help: 'File with the token of an account that may get /metrics.',
  },
});

/** Undefined without `--metrics-url`. Throws an OptionError for an address of another machine. */
export function metricsReader(values: FlagValues<typeof metricsFlags>): ReadMetrics | undefined {
  const { metricsUrl, metricsTokenFile } = values;
  const readToken = async () => (metricsTokenFile === '' ? '' : readFile(metricsTokenFile, 'utf8'));
  return metricsUrl === '' ? undefined : metricsAt(metricsUrl, readToken);
}
