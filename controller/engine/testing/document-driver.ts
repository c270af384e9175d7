import type { DocumentType, Driver } from '../driver.ts';
import { everyService, type Found, type Kind, type Owner, type Want } from '../resource.ts';
import { cluster, type Desired } from './drivers.ts';
import type { FakeCloud } from './fake-cloud.ts';
import { type Spec, tableKind, tableReader } from './table.ts';

/** One part of the document. `owner` undefined: a part of others. */
export interface Part {
  readonly kind: string;
  readonly owner: Owner | undefined;
  readonly key: string;
  readonly body: Readonly<Record<string, string>>;
}

interface PartSpec {
  readonly body: Readonly<Record<string, string>>;
  /** Name of the address. */
  readonly address?: string;
}

/** One document with a version, in which all Services have their parts and share a pool. */
export function createDocumentCloud(cloud: FakeCloud, clock: { monotonic(): number }, operationMs: number) {
  let doc: readonly Part[] | undefined;
  let version = 0;
  let busyUntilMs = 0;
  /** A part with this body is refused. */
  let refused: string | undefined;
  /** A part with this body is accepted and dropped. */
  let ignored: string | undefined;
  const holds = ({ body }: Part, text: string | undefined) => Object.values(body).includes(text ?? '-');

  function change(next: readonly Part[] | undefined, match: string | undefined) {
    if (busyUntilMs > clock.monotonic()) throw cloud.error('Busy', 'another operation is in progress');
    if (match !== (doc === undefined ? undefined : String(version))) throw cloud.error('Stale', 'version');
    if (next?.some((part) => holds(part, refused))) throw cloud.error('Invalid', 'a part is refused');
    for (const { kind, body } of next ?? [])
      if (kind === 'frontend' && !cloud.things.has(body['address']!)) throw cloud.error('Invalid', 'no such address');
    doc = next?.filter((part) => !holds(part, ignored));
    version += 1;
    busyUntilMs = clock.monotonic() + operationMs;
    return { version: String(version), operation: `document ${version}` };
  }
  const type: DocumentType<readonly Part[]> = {
    document: 'shared',
    name: () => 'main',
    all: () =>
      cloud.call('list documents', false, () =>
        doc === undefined ? [] : [{ name: 'main', doc, version: String(version) }],
      ),
    read: () => cloud.call('read document', false, () => doc && { doc, version: String(version) }),
    parse: (_, parts) =>
      parts.map((part): Found<Part> => {
        const id = `${part.owner?.service} ${part.key}`;
        const refs = [{ role: 'address', kind: 'address', id: part.body['address'] ?? '' }];
        const marks = part.owner && { owner: part.owner, key: part.key };
        return { kind: part.kind, id, ...marks, status: 'ready', refs, body: part };
      }),
    fold(parts = [], edits) {
      const next = [...parts];
      for (const edit of edits) {
        const { kind, key } = 'put' in edit ? edit.put : { kind: edit.drop.kind, key: edit.drop.key! };
        const service = kind === 'pool' ? everyService : edit.owner.service;
        const at = next.findIndex((one) => one.kind === kind && one.key === key && one.owner?.service === service);
        if ('drop' in edit) {
          if (at >= 0) next.splice(at, 1);
          continue;
        }
        const { body, address } = edit.put.spec as PartSpec;
        const owner = { cluster, service };
        const part = { kind, key, owner, body: { ...body, ...(address && { address: edit.idOf(address) }) } };
        if (at < 0) next.push(part);
        else next[at] = part;
      }
      return next.length === 0 ? undefined : next;
    },
    async write(_, next, match, permit) {
      permit(1000);
      return cloud.call('write document', true, () => ({ ...change(next, match), doc: doc! }));
    },
    async remove(_, match, permit) {
      permit(1000);
      const { operation } = await cloud.call('delete document', true, () => change(undefined, match));
      return { operation };
    },
  };
  return {
    type,
    get doc() {
      return doc;
    },
    set doc(now: readonly Part[] | undefined) {
      doc = now;
      version += 1;
    },
    refuse(text: string | undefined) {
      refused = text;
    },
    ignore(text: string | undefined) {
      ignored = text;
    },
    isRunning: (operation: string) =>
      operation === `document ${version}` && busyUntilMs > clock.monotonic() ? ('running' as const) : ('done' as const),
  };
}

export type DocumentCloud = ReturnType<typeof createDocumentCloud>;

export function documentDriver(cloud: FakeCloud, documents: DocumentCloud, settleMs: number): Driver<Desired> {
  const part = (kind: string, more: Partial<Kind<PartSpec, Part>> = {}): Kind<PartSpec, Part> => ({
    kind,
    document: 'shared',
    retryCreate: 'atOnce',
    compare(found, { body, address }, pointsAt) {
      const same = Object.entries(body).every(([field, value]) => found.body.body[field] === value);
      if (same && (address === undefined || pointsAt('address').includes(address))) return { same: true };
      return { changes: [{ what: kind, summary: `${kind} ${found.key}`, phase: 'set' }] };
    },
    ...more,
  });
  const kinds = [
    tableKind(cloud, { kind: 'address', retryCreate: 'afterSearch', settleMs, hasAddress: true, order: 'createFirst' }),
    part('frontend'),
    part('pool', {
      merge(specs, existing) {
        const lists = [...specs.map(({ body }) => body['members']), existing?.body.body['members']];
        const members = [...new Set(lists.flatMap((list) => list?.split(',') ?? []))].filter((one) => one !== '');
        return { body: { members: members.sort().join(',') } };
      },
    }),
    part('rule'),
  ] as unknown as readonly Kind[];
  return {
    kinds,
    documents: [documents.type as DocumentType],
    readers: [tableReader(cloud, ['address'], cluster)],
    desire({ ports, members, zone }) {
      const wants: Want<PartSpec | Spec>[] = [
        { kind: 'address', key: 'main', carriesAddress: true, summary: 'address', spec: { fixed: zone, body: {} } },
        {
          kind: 'frontend',
          key: 'main',
          needs: ['address/main'],
          summary: 'frontend',
          spec: { body: {}, address: 'address/main' },
        },
        { kind: 'pool', key: 'nodes', summary: 'pool', spec: { body: { members: [...members].sort().join(',') } } },
        ...ports.map(({ port, nodePort }) => ({
          kind: 'rule',
          key: `${port}`,
          needs: ['frontend/main', 'pool/nodes'],
          summary: `rule ${port}`,
          spec: { body: { port: `${port}`, nodePort: `${nodePort}` } },
        })),
      ];
      return { wants, refusals: [] };
    },
    poll: async (ids) => {
      await cloud.poll([]);
      return new Map(ids.map((id) => [id, documents.isRunning(id)]));
    },
  };
}
