import { conditionOf, type NodeObject, taintKeys } from '../../kit/world/scenario.ts';

const maxRows = 14;

const shortTaints: Readonly<Record<string, string>> = {
  'node.cloudprovider.kubernetes.io/uninitialized': 'uninitialized',
  'node.cloudprovider.kubernetes.io/shutdown': 'shutdown',
  'node.kubernetes.io/not-ready': 'not-ready',
};

/** One line of the table for each Node: what a person wants to see of it. */
export function nodeRows(nodes: readonly NodeObject[]): string[][] {
  return nodes.map((node) => {
    const missing = conditionOf(node, 'CloudInstanceMissing');
    const initialized = conditionOf(node, 'CloudInitialized');
    const taints = taintKeys(node).map((key) => shortTaints[key] ?? key);
    return [
      node.metadata.name,
      conditionOf(node, 'Ready')?.status ?? '?',
      taints.join(',') || '-',
      node.spec.providerID ?? '-',
      (node.status.addresses ?? [])
        .filter(({ type }: { type: string }) => type.endsWith('IP'))
        .map(({ address }: { address: string }) => address)
        .join(' ') || '-',
      missing?.status === 'True' ? missing.reason : (initialized?.reason ?? '-'),
    ];
  });
}

const header = ['NODE', 'READY', 'TAINTS', 'PROVIDERID', 'ADDRESSES', 'CLOUD'];

function aligned(rows: readonly (readonly string[])[]): string[] {
  const widths = header.map((_, column) => Math.max(...rows.map((row) => (row[column] ?? '').length)));
  return rows.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  );
}

/** Draws the cluster: in place on a terminal, as plain lines of what changed elsewhere. */
export interface LiveTable {
  draw(nodes: readonly NodeObject[]): void;
  /** A line that stays. */
  say(line: string): void;
  end(): void;
}

export function createLiveTable(out: NodeJS.WriteStream, startedMs: number): LiveTable {
  const live = out.isTTY === true;
  const seen = new Map<string, string>();
  let hasHeader = false;
  let drawn = 0;
  let rows: string[] = [];

  const stamp = () => `${((Date.now() - startedMs) / 1000).toFixed(1).padStart(5)} s`;

  function erase(): void {
    if (drawn > 0) out.write(`\x1b[${drawn}A\x1b[J`);
    drawn = 0;
  }

  function redraw(): void {
    out.write(rows.map((row) => `${row.slice(0, (out.columns || 160) - 1)}\n`).join(''));
    drawn = rows.length;
  }

  return {
    say(line) {
      if (live) erase();
      out.write(`${stamp()}  ${line}\n`);
      if (live) redraw();
    },
    draw(nodes) {
      const all = nodeRows(nodes);
      if (live) {
        rows = aligned([header, ...all.slice(0, maxRows)]);
        if (all.length > maxRows) rows.push(`... and ${all.length - maxRows} more`);
        erase();
        redraw();
        return;
      }
      const present = new Set(all.map(([name]) => name));
      const changed = all.filter((row) => seen.get(row[0] ?? '') !== row.join(' '));
      for (const row of changed) seen.set(row[0] ?? '', row.join(' '));
      if (!hasHeader && changed.length > 0) out.write(`${stamp()}    ${header.join('  ')}\n`);
      hasHeader ||= changed.length > 0;
      for (const row of changed.slice(0, maxRows)) out.write(`${stamp()}    ${row.join('  ')}\n`);
      if (changed.length > maxRows) out.write(`${stamp()}    ... and ${changed.length - maxRows} more changed\n`);
      for (const name of seen.keys()) {
        if (present.has(name)) continue;
        seen.delete(name);
        out.write(`${stamp()}    ${name}  gone\n`);
      }
    },
    end() {
      rows = [];
      drawn = 0;
    },
  };
}
