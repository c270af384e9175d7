import { isDeepStrictEqual } from 'node:util';
import { isCloudError } from '../../common/cloud-error.ts';
import { sleep } from '../../common/process/clock.ts';
import type { Permit } from '../clouds/permit.ts';
import type { Basics } from './basics.ts';
import type { DocumentType, Edit, Version } from './driver.ts';
import { isFoldedAgain, isRefusal } from './failure.ts';
import type { Operations } from './operations.ts';
import { createQueue, type Job } from './queue.ts';
import { type Found, identityOf, type ReadIo } from './resource.ts';

type DocumentsParts = Omit<Basics, 'kinds'> & { readonly operations: Operations };
export type Documents = ReturnType<typeof createDocuments>;

const maxTries = 6;
const firstDelayMs = 500;

/** The documents of a scope: their contents, and one write at a time for each. */
export function createDocuments(types: readonly DocumentType[], parts: DocumentsParts) {
  const documents = new Map<string, DocumentWriter>();
  /** All documents of these types were read: a document that was not listed does not exist. */
  let isAudited = false;

  function writerOf(type: DocumentType, name: string): DocumentWriter {
    const id = `${type.document} ${name}`;
    let writer = documents.get(id);
    if (writer === undefined) {
      writer = createWriter(type, name, parts);
      if (isAudited) writer.observe(undefined, 0);
      documents.set(id, writer);
    }
    return writer;
  }

  async function readAll(): Promise<void> {
    await Promise.all(
      types.map(async (type) => {
        const began = new Map([...documents].map(([id, writer]) => [id, writer.writes]));
        const all = await type.all(parts.cluster, { signal: parts.signal });
        const shown = new Map(all.map((one) => [`${type.document} ${one.name}`, one]));
        for (const { name } of all) writerOf(type, name);
        for (const [id, writer] of documents)
          if (id.startsWith(`${type.document} `)) writer.observe(shown.get(id), began.get(id) ?? 0);
      }),
    );
    isAudited = true;
  }
  let running: Promise<void> | undefined;
  let next: Promise<void> | undefined;
  async function readNext(): Promise<void> {
    await running?.catch(() => undefined);
    running = next;
    next = undefined;
    return readAll();
  }

  return {
    types: new Map(types.map((type) => [type.document, type])),
    /** Reads all of them. Callers share a read that has not begun yet. */
    audit(): Promise<void> {
      next ??= readNext();
      return next;
    },
    /** Whether they have been read at all: before that, a part may exist that is not shown. */
    get isAudited() {
      return isAudited;
    },
    /** Reads the documents whose state a write has left unknown. */
    async refresh(): Promise<void> {
      await Promise.all([...documents.values()].map((writer) => writer.refresh()));
    },
    /** Parses documents again whose parts depend on what was read since. Makes no call. */
    update(): void {
      // Documents of an earlier type may tell the owners of parts of a later one.
      for (const { document } of types)
        for (const [id, writer] of documents) if (id.startsWith(`${document} `)) writer.update();
    },
    /** Resolves when the edits are in the document; throws where they, or their permit, are refused. */
    submit: (type: DocumentType, name: string, edits: readonly Edit[], permit: Permit, service: string) =>
      writerOf(type, name).submit(edits, permit, service),
  };
}

type DocumentWriter = ReturnType<typeof createWriter>;

/** One write at a time with all edits that wait, guarded by the version. */
function createWriter(type: DocumentType, name: string, parts: DocumentsParts) {
  const { clock, found: index, signal, operations } = parts;
  const io: ReadIo = { signal };
  let state: { readonly now: Version | undefined } | undefined;
  let shown: readonly Found[] = [];
  let basis: unknown;
  let writes = 0;
  /** Services whose edits were refused: the edits of each are sent alone until they succeed. */
  const refusedServices = new Set<string>();
  const queue = createQueue<readonly Edit[], void>({ clock, next, send });

  function observe(now: Version | undefined): Version | undefined {
    state = { now };
    show(now);
    return now;
  }
  function show(now: Version | undefined): void {
    const next = now === undefined ? [] : type.parse(name, now.doc, parts.cluster);
    const remaining = new Set(next.map(identityOf));
    for (const identity of shown.map(identityOf)) if (!remaining.has(identity)) index.set(identity, undefined);
    for (const one of next) index.set(identityOf(one), one);
    shown = next;
    basis = type.basis?.();
  }
  const read = async () => observe(await type.read(name, io));

  async function write(before: Version | undefined, after: unknown, permit: Permit): Promise<void> {
    // Unknown until the operation has ended: it may fail.
    state = undefined;
    writes += 1;
    try {
      if (after === undefined) {
        const { operation } = await type.remove(name, before!.version, permit);
        if (operation !== undefined) await operations.end(operation);
        observe(undefined);
      } else {
        const { doc, version, operation } = await type.write(name, after, before?.version, permit);
        if (operation !== undefined) await operations.end(operation);
        observe({ doc, version });
      }
    } finally {
      writes += 1;
    }
  }

  function next(waiting: readonly Job<readonly Edit[], void>[]) {
    const batch = waiting.filter(({ service }) => !refusedServices.has(service));
    return batch.length > 0 ? batch : waiting.slice(0, 1);
  }

  async function send(jobs: readonly Job<readonly Edit[], void>[], permit: Permit): Promise<void> {
    const edits = jobs.flatMap(({ work }) => work);
    for (let tries = 1; ; tries += 1) {
      const before = state === undefined ? await read() : state.now;
      const after = type.fold(before?.doc, edits);
      if (isDeepStrictEqual(after, before?.doc)) return;
      try {
        return await write(before, after, permit);
      } catch (error) {
        if (!isCloudError(error) || !isFoldedAgain(error) || tries >= maxTries) throw error;
        if (error.kind !== 'Stale') await sleep(clock, error.retryAfterMs ?? firstDelayMs * 2 ** tries, signal);
      }
    }
  }

  async function submit(edits: readonly Edit[], permit: Permit, service: string): Promise<void> {
    try {
      await queue.submit({ work: edits, key: service, permit, service });
      refusedServices.delete(service);
    } catch (error) {
      if (isRefusal(error)) refusedServices.add(service);
      throw error;
    }
  }

  /** @param writesThen when the read began */
  function observeRead(now: Version | undefined, writesThen: number): void {
    if (writes === writesThen && !queue.isBusy) observe(now);
  }

  return {
    /** How many writes have begun or ended: a read that began before is old. */
    get writes() {
      return writes;
    },
    observe: observeRead,
    async refresh(): Promise<void> {
      if (state !== undefined || queue.isBusy) return;
      const writesThen = writes;
      observeRead(await type.read(name, io), writesThen);
    },
    update(): void {
      if (state?.now !== undefined && type.basis?.() !== basis) show(state.now);
    },
    submit,
  };
}
