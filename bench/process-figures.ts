import { readFile } from 'node:fs/promises';

/** Memory of a process in MiB, as the kernel counts it. */
export interface MemoryFigures {
  readonly rssMiB: number;
  /** Memory of the process alone. The rest is files, mostly the node binary, which all processes of a machine share. */
  readonly anonymousMiB: number;
  /** The highest RSS so far. */
  readonly peakMiB: number;
}

export async function memoryOf(pid: number): Promise<MemoryFigures> {
  const [rollup, status] = await Promise.all([
    readFile(`/proc/${pid}/smaps_rollup`, 'utf8'),
    readFile(`/proc/${pid}/status`, 'utf8'),
  ]);
  return {
    rssMiB: mebibytes(rollup, 'Rss'),
    anonymousMiB: mebibytes(rollup, 'Anonymous'),
    peakMiB: mebibytes(status, 'VmHWM'),
  };
}

function mebibytes(text: string, field: string): number {
  const kibibytes = Number(new RegExp(`^${field}:\\s+(\\d+) kB`, 'm').exec(text)?.[1]);
  return Math.round((kibibytes / 1024) * 10) / 10;
}

/** User and system time of a process; the kernel counts in hundredths of a second. */
export async function cpuSecondsOf(pid: number): Promise<number> {
  const fields = (await readFile(`/proc/${pid}/stat`, 'utf8')).split(') ')[1]!.split(' ');
  return (Number(fields[11]) + Number(fields[12])) / 100;
}

/** The middle one; of an even number the mean of the two. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const half = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[half]! : (sorted[half - 1]! + sorted[half]!) / 2;
}

/** Of several processes, each figure by itself. */
export function medianMemory(all: readonly MemoryFigures[]): MemoryFigures {
  return {
    rssMiB: median(all.map(({ rssMiB }) => rssMiB)),
    anonymousMiB: median(all.map(({ anonymousMiB }) => anonymousMiB)),
    peakMiB: median(all.map(({ peakMiB }) => peakMiB)),
  };
}

/** Rise per step of x by least squares. */
export function slope(points: readonly { readonly x: number; readonly y: number }[]): number {
  const mean = (pick: (point: { x: number; y: number }) => number) =>
    points.reduce((sum, point) => sum + pick(point), 0) / points.length;
  const [x, y] = [mean((point) => point.x), mean((point) => point.y)];
  const across = points.reduce((sum, point) => sum + (point.x - x) * (point.y - y), 0);
  return across / points.reduce((sum, point) => sum + (point.x - x) ** 2, 0);
}
