import type { MetricDefinition } from '../../common/process/metrics.ts';

/** One graph, or a row of them. */
export interface Panel {
  readonly title: string;
  /** Of the metric: its help. */
  readonly description: string;
  /** In PromQL, with the variables of Grafana. */
  readonly query: string;
  readonly legend: string;
  /** As Grafana names it. */
  readonly unit: 's' | 'bytes' | 'ops' | 'short';
}

export interface Row {
  readonly title: string;
  readonly panels: readonly Panel[];
}

type Described = Pick<MetricDefinition, 'name' | 'help'> & { readonly labels?: readonly string[] | undefined };

interface Shown {
  readonly title: string;
  /** The labels that tell the lines apart. */
  readonly by?: readonly string[];
  /** Chooses samples: `{cloud="$cloud"}`. */
  readonly where?: string;
}

/** A counter: how much of it happens in a second. */
export function rate(metric: Described, shown: Shown): Panel {
  const query = ours(metric.name, `rate(${metric.name}${shown.where ?? ''}[$__rate_interval])`);
  return panel(metric, shown, `sum${grouping(shown.by)}(${query})`, 'ops');
}

/** A gauge of the leader alone, added up. */
export function sum(metric: Described, shown: Shown): Panel {
  const query = ours(metric.name, `${metric.name}${shown.where ?? ''}`);
  return panel(metric, shown, `sum${grouping(shown.by)}(${query})`, unitOf(metric.name));
}

/** A gauge of each process or of each replica: the largest. */
export function largest(metric: Described, shown: Shown): Panel {
  const query = ours(metric.name, `${metric.name}${shown.where ?? ''}`);
  return panel(metric, shown, `max${grouping(shown.by)}(${query})`, unitOf(metric.name));
}

/** A histogram: what 99 of 100 stay below. */
export function slowest(metric: Described, shown: Shown): Panel {
  const buckets = ours(metric.name, `rate(${metric.name}_bucket${shown.where ?? ''}[$__rate_interval])`);
  const query = `histogram_quantile(0.99, sum${grouping([...(shown.by ?? []), 'le'])}(${buckets}))`;
  return panel(metric, shown, query, unitOf(metric.name));
}

/** Other components of Kubernetes, and other programs, have metrics of the same names. */
function ours(name: string, query: string): string {
  return name.startsWith('mooring_')
    ? query
    : `${query} and on (job, instance) {__name__=~"mooring_(agent_)?build_info"}`;
}

function panel(
  { name, help, labels }: Described,
  { title, by = [] }: Shown,
  query: string,
  unit: Panel['unit'],
): Panel {
  const unknown = by.filter((label) => labels !== undefined && !labels.includes(label));
  if (unknown.length > 0) throw new RangeError(`${title}: ${name} has no label ${unknown.join(', ')}`);
  const legend = by.length === 0 ? title : by.map((label) => `{{${label}}}`).join(' ');
  return { title, description: `${name}: ${help}`, query, legend, unit };
}

function grouping(by: readonly string[] = []): string {
  return by.length === 0 ? ' ' : ` by (${by.join(', ')}) `;
}

function unitOf(name: string): Panel['unit'] {
  if (name.endsWith('_seconds')) return 's';
  return name.endsWith('_bytes') ? 'bytes' : 'short';
}
