import { type Found, identityOf, type Reader, type ReadIo } from './resource.ts';

export interface DetailReading {
  /** Identity of the container. */
  readonly container: string;
  readonly found: readonly Found[];
}

/** When parts that no list shows have to be read again: by version, or by age. */
export interface Details {
  /** Reads the parts of those `containers` that are due, or of `all`: one call each. */
  read(
    reader: Reader,
    containers: readonly Found[],
    when: { readonly nowMs: number; readonly all: boolean },
    io: ReadIo,
  ): Promise<readonly DetailReading[]>;
  /** An answer of our own has shown the parts of that container. */
  noted(container: string, nowMs: number): void;
  /** Whether lists never show that kind. */
  isDetail(kind: string): boolean;
}

export function createDetails(readers: readonly Reader[]): Details {
  const kinds = new Set(readers.flatMap(({ detail }) => detail?.parts ?? []));
  const read = new Map<string, { readonly atMs: number; readonly version: string | undefined }>();

  function isDue({ detail }: Reader, container: Found, nowMs: number): boolean {
    const identity = identityOf(container);
    const last = read.get(identity);
    if (last === undefined || last.version !== container.version) return true;
    if (container.version !== undefined) return false;
    return nowMs - last.atMs >= detail!.maxAgeMs * (0.5 + 0.5 * shareOf(identity));
  }

  return {
    async read(reader, containers, { nowMs, all }, io) {
      const { detail } = reader;
      if (detail === undefined) return [];
      const due = containers.filter((one) => one.kind === detail.kind && (all || isDue(reader, one, nowMs)));
      return Promise.all(
        due.map(async (one) => {
          const container = identityOf(one);
          const found = await detail.read(one, io);
          read.set(container, { atMs: nowMs, version: one.version });
          return { container, found };
        }),
      );
    },
    noted: (container, nowMs) => void read.set(container, { atMs: nowMs, version: undefined }),
    isDetail: (kind) => kinds.has(kind),
  };
}

/** A number from 0 to 1 for each id, so that reads by age are spread evenly. */
function shareOf(identity: string): number {
  let hash = 0;
  for (let at = 0; at < identity.length; at += 1) hash = (Math.imul(hash, 31) + identity.charCodeAt(at)) >>> 0;
  return (hash % 1000) / 1000;
}
