import type { ComponentChildren } from 'preact';
import type { Picture } from '../merge-update.ts';
import type { Counts, MetricsView, NodeRow, ServiceRow } from '../update.ts';
import { ageOf, counted, type Filter, isShown, lookOf } from './groups.ts';
import type { Open } from './nodes.tsx';

/** Beyond these a filter finds the others. */
const shownServices = 200;

interface ServicesProps {
  readonly services: Picture['services'];
  readonly filter: Filter;
  readonly nowMs: number;
  readonly onOpen: Open;
}

/** Services that have, or may have, a load balancer; those that need attention first. */
export function Services({ services, filter, nowMs, onOpen }: ServicesProps) {
  const rows = [...services.values()].filter((row) => isShown(row, filter));
  const sorted = rows.sort((a, b) => Number(a.ok) - Number(b.ok));
  if (sorted.length === 0)
    return <p class="quiet">{services.size === 0 ? 'No Service has a load balancer.' : 'No Service matches.'}</p>;
  return (
    <>
      <Table
        label="Table of Services"
        heads={['Service', 'State', 'Load balancer', 'Address', 'Listeners', 'Desired members', 'Since']}
      >
        {sorted.slice(0, shownServices).map((row) => (
          <ServiceLine key={row.name} row={row} nowMs={nowMs} onOpen={onOpen} />
        ))}
      </Table>
      {sorted.length > shownServices && (
        <p class="quiet">{counted.format(sorted.length - shownServices)} more; the filter finds them.</p>
      )}
    </>
  );
}

function ServiceLine({ row, nowMs, onOpen }: { row: ServiceRow; nowMs: number; onOpen: Open }) {
  const { name, state, reason, ok, why } = row;
  return (
    <tr>
      <th scope="row">
        <button type="button" class="link" data-name={name} onClick={() => onOpen('service', name)}>
          {name}
        </button>
      </th>
      <td>
        <State state={state} reason={ok && reason === 'Ensured' ? '' : reason} />
        {(!ok || reason === 'MembersRefused') && why !== '' && <small class="why">{why}</small>}
      </td>
      <td>{row.balancer === null ? 'not recorded' : row.balancer || 'requested'}</td>
      <td>{row.addresses || 'none'}</td>
      <td>{row.listeners.join(', ')}</td>
      <td>{membersText(row.members)}</td>
      <td class="number">{row.since === null ? '' : ageOf(row.since, nowMs)}</td>
    </tr>
  );
}

/** What the rules of the controller say; the panel has the names. */
function membersText(members: ServiceRow['members']): string {
  if (members === null) return 'none';
  if ('unknown' in members) return `unknown: ${members.unknown}`;
  const counts = { serving: members.serving, draining: members.draining, refused: members.refused };
  return Object.entries(counts)
    .map(([state, count]) => `${counted.format(count)} ${state}`)
    .join(', ');
}

export function State({ state, reason }: { state: string; reason: string }) {
  return (
    <span class="state">
      <i class={`cell ${lookOf(state)}`} />
      {state}
      {reason !== '' && <span class="quiet"> {reason}</span>}
    </span>
  );
}

/** Calls to clouds and what their rate limits did to them. */
export function Clouds({ metrics }: { metrics: MetricsView | undefined }) {
  if (metrics === undefined || 'unknown' in metrics) return <p class="quiet">{metrics?.unknown ?? 'not read yet'}</p>;
  if (metrics.clouds.length === 0) return <p class="quiet">No call to a cloud yet.</p>;
  return (
    <>
      {!metrics.leads && <p class="notice">These are the metrics of a replica that does not lead.</p>}
      <Table label="Table of clouds" heads={['Cloud', 'Calls', 'A minute', 'Throttled', 'Failed', 'Waited']}>
        {metrics.clouds.map(({ cloud, calls, perMinute, throttled, failed, waitedSeconds }) => (
          <tr key={cloud}>
            <th scope="row">{cloud}</th>
            <td class="number">{counted.format(calls)}</td>
            <td class="number">{perMinute === null ? '' : counted.format(Math.round(perMinute))}</td>
            <td class={throttled > 0 ? 'number wanting' : 'number'}>{counted.format(throttled)}</td>
            <td class={failed > 0 ? 'number wanting' : 'number'}>{counted.format(failed)}</td>
            <td class="number">{waitedSeconds === null ? '' : `${waitedSeconds.toFixed(2)} s`}</td>
          </tr>
        ))}
      </Table>
    </>
  );
}

const memberWords = new Map([
  ['active', 'serving'],
  ['leaving', 'draining'],
  ['withheld', 'withheld'],
]);

/** So many Nodes or Services are named in a sentence. */
const namedAtMost = 12;

interface MembersProps extends Pick<ServicesProps, 'services' | 'onOpen'> {
  readonly metrics: MetricsView | undefined;
  readonly nodes: readonly NodeRow[];
}

/** Members of load balancers by scope, the Nodes that leave them, and the Services whose members the cloud refuses. */
export function Members({ metrics, services, nodes, onOpen }: MembersProps) {
  const leaving = nodes.filter((node) => node.leaving !== '').map(({ name }) => name);
  const refusing = [...services.values()].filter(({ reason }) => reason === 'MembersRefused').map(({ name }) => name);
  return (
    <>
      <States metrics={metrics} of="members" words={memberWords} />
      <Named label="Marked to drain:" names={leaving} onOpen={(name) => onOpen('node', name)} />
      <Named label="Refused by the cloud, some of:" names={refusing} onOpen={(name) => onOpen('service', name)} />
    </>
  );
}

function Named({ label, names, onOpen }: { label: string; names: readonly string[]; onOpen(name: string): void }) {
  if (names.length === 0) return null;
  return (
    <p class="named">
      {label}
      {names.slice(0, namedAtMost).map((name) => (
        <button key={name} type="button" class="link" onClick={() => onOpen(name)}>
          {name}
        </button>
      ))}
      {names.length > namedAtMost && ` and ${counted.format(names.length - namedAtMost)} more`}
    </p>
  );
}

const routeWords = new Map(['kept', 'tolerated', 'missing', 'surplus', 'foreign'].map((word) => [word, word]));

/** Routes to pod ranges: what the Nodes say of theirs, and what the route tables hold. */
export function Routes({ metrics, nodes }: { metrics: MetricsView | undefined; nodes: readonly NodeRow[] }) {
  const byReason = Object.entries(Object.groupBy(nodes, ({ route }) => route)).filter(([reason]) => reason !== '');
  return (
    <>
      <p>
        {byReason.length === 0
          ? 'No Node says anything about its route.'
          : byReason.map(([reason, rows]) => `${counted.format(rows?.length ?? 0)} ${reason}`).join(', ')}
      </p>
      <States metrics={metrics} of="routes" words={routeWords} />
    </>
  );
}

interface StatesProps {
  readonly metrics: MetricsView | undefined;
  readonly of: 'members' | 'routes';
  readonly words: ReadonlyMap<string, string>;
}

function States({ metrics, of, words }: StatesProps) {
  if (metrics === undefined || 'unknown' in metrics) return <p class="quiet">unknown without metrics</p>;
  const counts: Counts = metrics[of];
  const scopes = Object.entries(counts).filter(([, states]) => Object.values(states).some((count) => count > 0));
  if (scopes.length === 0) return <p class="quiet">None.</p>;
  const used = [...words].filter(([state]) => scopes.some(([, states]) => (states[state] ?? 0) > 0));
  return (
    <Table label={`Table of ${of}`} heads={['Scope', ...used.map(([, word]) => word)]}>
      {scopes.map(([scope, states]) => (
        <tr key={scope}>
          <th scope="row">{scope}</th>
          {used.map(([state]) => (
            <td key={state} class="number">
              {counted.format(states[state] ?? 0)}
            </td>
          ))}
        </tr>
      ))}
    </Table>
  );
}

interface TableProps {
  readonly label: string;
  readonly heads: readonly string[];
  readonly children: ComponentChildren;
}

function Table({ label, heads, children }: TableProps) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a part that scrolls has to be reached by keyboard
    <section class="scrolls" tabIndex={0} aria-label={label}>
      <table>
        <thead>
          <tr>
            {heads.map((head) => (
              <th key={head} scope="col">
                {head}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    </section>
  );
}
