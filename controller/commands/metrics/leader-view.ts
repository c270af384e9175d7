import { parseSamples, viewMetrics } from './metrics-view.ts';

/** What the metrics of the leader tell and the API server does not. */
export interface LeaderView {
  readonly clouds: readonly CloudHealth[];
  /** Load balancers of this cluster whose Service does not exist, by scope. */
  readonly orphans: Readonly<Record<string, number>>;
  /** Nodes whose agent has reported to this leader. */
  readonly agents: number;
}

/** Counted since the leader started. */
export interface CloudHealth {
  readonly cloud: string;
  /** It has no credential, or its account is not known. */
  readonly reportOnly: boolean;
  readonly calls: number;
  readonly throttled: number;
  readonly failed: number;
}

/** Undefined where these are the metrics of a standby. Pure. */
export function viewLeader(text: string): LeaderView | undefined {
  const samples = parseSamples(text);
  const { view } = viewMetrics(samples, undefined, 0);
  if (!view.leads) return undefined;
  const of = (metric: string) => samples.filter(({ name }) => name === metric);
  const reportOnly = new Map(
    of('mooring_cloud_report_only').map(({ labels, value }) => [labels['cloud'], value === 1]),
  );
  const called = new Map(view.clouds.map((calls) => [calls.cloud, calls]));
  const names = [...new Set([...called.keys(), ...reportOnly.keys()])].filter((name) => name !== undefined).sort();
  const orphans = of('mooring_orphaned_load_balancers').map(({ labels, value }) => [labels['scope'] ?? '', value]);
  return {
    clouds: names.map((cloud) => {
      const { calls = 0, throttled = 0, failed = 0 } = called.get(cloud) ?? {};
      return { cloud, reportOnly: reportOnly.get(cloud) ?? false, calls, throttled, failed };
    }),
    orphans: Object.fromEntries(orphans),
    agents: of('mooring_attestation_nodes').reduce((sum, { value }) => sum + value, 0),
  };
}
