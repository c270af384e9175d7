import { Component } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';
import type { Picture } from '../merge-update.ts';
import type { NodeRow } from '../update.ts';
import { counted, type Filter, isShown, lookOf } from './groups.ts';

export type Open = (kind: 'node' | 'service', name: string) => void;

/** So many Nodes have room for their names. */
const namedNodes = 150;
/** More than so many get smaller cells. */
const largeNodes = 1500;

interface NodesProps {
  readonly zones: Picture['zones'];
  readonly filter: Filter;
  readonly onOpen: Open;
}

/** Nodes by zone: as cards while there are few, else as a grid of cells. */
export function Nodes({ zones, filter, onOpen }: NodesProps) {
  const shown = [...zones].map(([zone, rows]) => ({ zone, rows, count: countShown(rows, filter) }));
  const total = shown.reduce((sum, { count }) => sum + count, 0);
  const named = total <= namedNodes;
  const layout = named ? 'zones side-by-side' : total > largeNodes ? 'zones small' : 'zones';
  return (
    <div class={layout}>
      {shown.map(({ zone, rows, count }) => (
        <Zone key={zone} zone={zone} rows={rows} count={count} filter={filter} named={named} onOpen={onOpen} />
      ))}
    </div>
  );
}

function countShown(rows: ReadonlyMap<string, NodeRow>, filter: Filter): number {
  let count = 0;
  for (const row of rows.values()) if (isShown(row, filter)) count += 1;
  return count;
}

interface ZoneProps extends Omit<NodesProps, 'zones'> {
  readonly zone: string;
  readonly rows: ReadonlyMap<string, NodeRow>;
  readonly count: number;
  readonly named: boolean;
}

/** Drawn again only when one of its Nodes changed, or what is shown of them. */
class Zone extends Component<ZoneProps> {
  override shouldComponentUpdate(next: ZoneProps): boolean {
    const { rows, filter, named } = this.props;
    return rows !== next.rows || filter !== next.filter || named !== next.named;
  }

  override render() {
    const { zone, rows, count, filter, named, onOpen } = this.props;
    if (count === 0) return null;
    const all = [...rows.values()];
    const wanting = all.filter(({ ok }) => !ok).length;
    const title = zone === '' ? 'no zone yet' : zone;
    return (
      <section class="zone" aria-label={`Zone ${title}`}>
        <h3>
          {title}
          <span class="quiet">
            {count === rows.size ? counted.format(count) : `${counted.format(count)} of ${counted.format(rows.size)}`}
            {wanting > 0 && <b class="wanting"> {counted.format(wanting)} to look at</b>}
          </span>
        </h3>
        <Cells rows={all.filter((row) => isShown(row, filter))} title={title} named={named} onOpen={onOpen} />
      </section>
    );
  }
}

interface CellsProps {
  readonly rows: readonly NodeRow[];
  readonly title: string;
  readonly named: boolean;
  readonly onOpen: Open;
}

function Cells({ rows, title, named, onOpen }: CellsProps) {
  const grid = useRef<HTMLDivElement>(null);
  // One of them takes the tab key, the arrows go on from there.
  useLayoutEffect(() => {
    const cells = grid.current;
    if (cells && !cells.querySelector('[tabindex="0"]')) cells.firstElementChild?.setAttribute('tabindex', '0');
  });
  const open = ({ currentTarget }: { currentTarget: HTMLElement }) =>
    onOpen('node', currentTarget.dataset['name'] ?? '');
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset would be part of a form
    <div
      ref={grid}
      role="group"
      aria-label={`Nodes of ${title}; the arrow keys move between them`}
      class={named ? 'cards' : 'cells'}
      onKeyDown={move}
    >
      {rows.map((row) => {
        const said = `${row.state}${row.reason && ` (${row.reason})`}`;
        return (
          <button
            key={row.name}
            type="button"
            tabIndex={-1}
            class={`${named ? 'card' : 'cell'} ${lookOf(row.state)}`}
            data-name={row.name}
            data-state={row.state}
            aria-label={named ? undefined : `${row.name}: ${said}`}
            title={`${row.name}\n${said}\n${row.why}${row.leaving && `\nleaves the load balancers: ${row.leaving}`}`}
            onClick={open}
          >
            {named && (
              <>
                <i class="cell" />
                <b>{row.name}</b>
                <small>{instanceOf(row)}</small>
                <small class="said">
                  {row.ok ? (row.leaving ? `drains: ${row.leaving}` : row.state) : row.reason || row.state}
                </small>
              </>
            )}
          </button>
        );
      })}
    </div>
  );
}

/** The VM: the last part of the providerID. */
function instanceOf({ providerID }: NodeRow): string {
  return providerID === '' ? 'no VM yet' : (providerID.split('/').at(-1) ?? providerID);
}

const steps: Readonly<Record<string, (columns: number) => number>> = {
  ArrowLeft: () => -1,
  ArrowRight: () => 1,
  ArrowUp: (columns) => -columns,
  ArrowDown: (columns) => columns,
  Home: () => Number.NEGATIVE_INFINITY,
  End: () => Number.POSITIVE_INFINITY,
};

/** Moves the focus within the cells, and up and down into the next zone. */
function move(event: KeyboardEvent & { readonly currentTarget: HTMLElement }): void {
  const step = steps[event.key];
  const { currentTarget: grid, target } = event;
  if (step === undefined || !(target instanceof HTMLElement)) return;
  event.preventDefault();
  const cells = [...grid.children];
  const columns = getComputedStyle(grid).gridTemplateColumns.split(' ').length;
  const at = cells.indexOf(target) + step(columns);
  const isUp = event.key === 'ArrowUp';
  const leaves = (isUp && at < 0) || (event.key === 'ArrowDown' && at >= cells.length);
  const grids = [...document.querySelectorAll('.cells, .cards')];
  const other = leaves ? grids[grids.indexOf(grid) + (isUp ? -1 : 1)] : undefined;
  const next = other
    ? isUp
      ? other.lastElementChild
      : other.firstElementChild
    : cells[Math.min(Math.max(at, 0), cells.length - 1)];
  if (!(next instanceof HTMLElement)) return;
  for (const old of next.parentElement?.querySelectorAll('[tabindex="0"]') ?? []) old.setAttribute('tabindex', '-1');
  next.setAttribute('tabindex', '0');
  next.focus();
}
