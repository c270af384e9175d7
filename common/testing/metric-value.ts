import type { MetricRegistry } from '../process/metrics.ts';

/**
 * What a scrape would show of one series, 0 where it shows none of these labels. Throws when no metric has this name: a
 * misspelt one must not count as 0.
 *
 * @param labels as in the scrape, `{reason="Confirming"}`
 */
export async function metricValue(registry: Pick<MetricRegistry, 'text'>, name: string, labels = ''): Promise<number> {
  const lines = (await registry.text()).split('\n');
  const metric = name.replace(/_(count|sum)$/, '');
  if (!lines.some((line) => line.startsWith(`# TYPE ${name} `) || line.startsWith(`# TYPE ${metric} `)))
    throw new Error(`no metric ${name}`);
  const line = lines.find((each) => each.startsWith(`${name}${labels} `));
  return line === undefined ? 0 : Number(line.slice(line.lastIndexOf(' ') + 1));
}
