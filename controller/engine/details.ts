import { type Detail, type Found, identityOf, type Reader, type ReadIo } from './resource.ts';

interface DetailReading {
  /** Identity of the container. */
  readonly container: string;
  /** Kinds of which it shows all that are in the container. */
  readonly kinds: readonly string[];
  readonly found: readonly Found[];
}

/** Decides by version and age when parts that no list shows are read again. */
export function createDetails(readers: readonly Reader[]) {
  /** By kind of the parts. */
  const details = new Map(readers.flatMap(detailsOf).flatMap((detail) => detail.parts.map((part) => [part, detail])));
  const read = new Map<Detail, Map<string, { readonly atMs: number; readonly version: string | undefined }>>();
  const readOf = (detail: Detail) => {
    const containers = read.get(detail) ?? new Map();
    read.set(detail, containers);
    return containers;
  };

  function isDue(detail: Detail, container: Found, nowMs: number): boolean {
    const identity = identityOf(container);
    const last = readOf(detail).get(identity);
    if (last === undefined || last.version !== container.version) return true;
    return nowMs - last.atMs >= detail.maxAgeMs * (0.5 + 0.5 * shareOf(identity));
  }

  return {
    /** Reads the parts of those `containers` that are due, or of `all`: one call each. */
    async read(
      reader: Reader,
      containers: readonly Found[],
      { nowMs, all }: { readonly nowMs: number; readonly all: boolean },
      io: ReadIo,
    ): Promise<readonly DetailReading[]> {
      const due = detailsOf(reader).flatMap((detail) =>
        containers.flatMap((one) => {
          return one.kind === detail.kind && (all || isDue(detail, one, nowMs)) ? [{ detail, one }] : [];
        }),
      );
      return Promise.all(
        due.map(async ({ detail, one }) => {
          const container = identityOf(one);
          const found = await detail.read(one, io);
          readOf(detail).set(container, { atMs: nowMs, version: one.version });
          return { container, kinds: detail.parts, found };
        }),
      );
    },
    /**
     * The answer to a call of ours has shown parts of that kind in that container. It shows not all of them, so the age
     * of what was read stays.
     */
    noted(part: string, container: string, nowMs: number): void {
      const detail = details.get(part);
      if (detail === undefined) return;
      const { atMs } = readOf(detail).get(container) ?? { atMs: nowMs };
      readOf(detail).set(container, { atMs, version: undefined });
    },
    /** Whether lists never show that kind. */
    isDetail: (kind: string) => details.has(kind),
  };
}

function detailsOf({ detail }: Reader): readonly Detail[] {
  return detail === undefined ? [] : [detail].flat();
}

/** A number from 0 to 1 for each id, so that reads by age are spread evenly. */
function shareOf(identity: string): number {
  let hash = 0;
  for (let at = 0; at < identity.length; at += 1) hash = (Math.imul(hash, 31) + identity.charCodeAt(at)) >>> 0;
  return (hash % 1000) / 1000;
}
