import type { Panel, Row } from './panel.ts';
import { cloudRows, clusterRows } from './rows.ts';

interface Dashboard {
  readonly uid: string;
  readonly title: string;
  readonly rows: readonly Row[];
  readonly variables: readonly object[];
}

const source = { type: 'prometheus', uid: `\${datasource}` };
const sourceVariable = { name: 'datasource', label: 'Data source', type: 'datasource', query: 'prometheus' };
const cloudVariable = {
  name: 'cloud',
  label: 'Cloud',
  type: 'query',
  datasource: source,
  refresh: 2,
  sort: 1,
  query: 'label_values(mooring_cloud_report_only, cloud)',
};
const columns = 3;
const width = 24 / columns;
const height = 8;

const dashboards: readonly Dashboard[] = [
  { uid: 'mooring', title: 'Mooring', rows: clusterRows, variables: [sourceVariable] },
  { uid: 'mooring-cloud', title: 'Mooring, one cloud', rows: cloudRows, variables: [sourceVariable, cloudVariable] },
];

/** The dashboards for Grafana as JSON, by the name of their file. */
export function dashboardFiles(): ReadonlyMap<string, string> {
  return new Map(dashboards.map((one) => [`${one.uid}.json`, `${JSON.stringify(drawn(one), undefined, 2)}\n`]));
}

/** Every query of every dashboard, with its title. */
export function dashboardQueries(): readonly { readonly title: string; readonly query: string }[] {
  return dashboards.flatMap(({ title, rows }) =>
    rows.flatMap(({ panels }) => panels.map((panel) => ({ title: `${title}: ${panel.title}`, query: panel.query }))),
  );
}

function drawn({ uid, title, rows, variables }: Dashboard): object {
  let top = 0;
  let id = 0;
  const panels = rows.flatMap((row) => {
    const header = { id: ++id, type: 'row', title: row.title, gridPos: { x: 0, y: top++, w: 24, h: 1 } };
    const graphs = row.panels.map((panel, at) => ({
      id: ++id,
      ...graph(panel),
      gridPos: { x: (at % columns) * width, y: top + Math.floor(at / columns) * height, w: width, h: height },
    }));
    top += Math.ceil(graphs.length / columns) * height;
    return [header, ...graphs];
  });
  return {
    uid,
    title,
    tags: ['mooring'],
    schemaVersion: 39,
    refresh: '30s',
    time: { from: 'now-3h', to: 'now' },
    templating: { list: variables },
    panels,
  };
}

function graph({ title, description, query, legend, unit }: Panel): object {
  return {
    type: 'timeseries',
    title,
    description,
    datasource: source,
    fieldConfig: { defaults: { unit, min: 0 }, overrides: [] },
    options: { legend: { displayMode: 'list', placement: 'bottom' }, tooltip: { mode: 'multi', sort: 'desc' } },
    targets: [{ refId: 'A', datasource: source, expr: query, legendFormat: legend }],
  };
}
