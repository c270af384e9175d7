import { type Found, identityOf, isOwnedBy, type Query, type Reader, type ReadIo } from '../../../engine/resource.ts';
import { unlessNotFound } from '../../not-found.ts';
import type { HetznerClient } from '../client.ts';
import { foundOf, kindNames, readBalancer } from './balancer.ts';
import { path } from './calls.ts';
import { certificatePath, foundCertificate } from './certificates.ts';

export interface ReaderOptions {
  readonly client: HetznerClient;
  /** Main addresses of the dedicated servers, by their numbers. Undefined: they are not served. */
  readonly dedicatedServers: ((signal: AbortSignal | undefined) => Promise<ReadonlyMap<string, string>>) | undefined;
  /** Called before the first read: what a Service asks for depends on it. */
  prepare(signal: AbortSignal | undefined): Promise<void>;
}

/**
 * One list of a project shows all load balancers and their parts, another its certificates: a Service may name one that
 * no load balancer has yet. Dedicated servers are read where they are served.
 */
export function createReader({ client, dedicatedServers, prepare }: ReaderOptions): Reader {
  async function balancers(urgency: 'need' | 'refresh', signal: AbortSignal | undefined): Promise<Found[]> {
    return (await client.list({ path, urgency, signal }, 'load_balancers')).map(readBalancer).flatMap(foundOf);
  }
  async function certificates(urgency: 'need' | 'refresh', signal: AbortSignal | undefined): Promise<Found[]> {
    return (await client.list({ path: certificatePath, urgency, signal }, 'certificates')).map(foundCertificate);
  }
  async function dedicated(signal: AbortSignal | undefined): Promise<Found[]> {
    const servers = (await dedicatedServers?.(signal)) ?? [];
    return [...servers].map(([id, ip]) => ({ kind: kindNames.dedicated, id, status: 'ready', body: ip }));
  }
  const hasCertificates = (found: readonly Found[]) =>
    found.some(({ refs = [] }) => refs.some(({ kind }) => kind === kindNames.certificate));

  async function readOwner({ owner, ids, slots, search }: Query, io: ReadIo): Promise<Found[]> {
    const of = (kind: string) => ids.filter((one) => one.kind === kind).map(({ id }) => id);
    const needsDedicated = of(kindNames.dedicated).length > 0;
    const apart: readonly string[] = [kindNames.certificate, kindNames.dedicated];
    // The id of a part begins with that of its load balancer.
    const named = new Set(ids.filter(({ kind }) => !apart.includes(kind)).map(({ id }) => id.split('/')[0]!));
    // A Service may name a load balancer by its name.
    const hosts = new Set([...named].filter((id) => /^[1-9]\d*$/.test(id)));
    const answers = await Promise.all(
      [...hosts].map((id) => unlessNotFound(client.call({ path: `${path}/${id}`, signal: io.signal }))),
    );
    const read = answers.flatMap((one) =>
      one === undefined ? [] : foundOf(readBalancer(one.object('load_balancer'))),
    );
    // Names are unique in a project, so there is no second one of a Service that has one.
    const isFound = read.some((one) => one.kind === kindNames.balancer && isOwnedBy(one, owner));
    const isListed = (search && !isFound) || hosts.size < named.size;
    const listed = isListed ? await balancers('need', io.signal) : [];
    const desired = of(kindNames.certificate);
    const isCertificate = (slot: string) => slot.startsWith(`${kindNames.certificate} `);
    const isAsked = desired.length > 0 || slots.some(isCertificate) || hasCertificates([...listed, ...read]);
    // By the list, since a Service may name them.
    const found = [
      ...listed,
      ...(isAsked ? await certificates('need', io.signal) : []),
      ...(needsDedicated ? await dedicated(io.signal) : []),
    ];
    // A list may lag behind a read by id.
    const newer = new Set(read.map(identityOf));
    const isGone = (one: Found) => hosts.has(one.within ?? one.id) && !apart.includes(one.kind);
    return [...read, ...found.filter((one) => !newer.has(identityOf(one)) && !isGone(one))];
  }

  return {
    kinds: Object.values(kindNames),
    async all(_cluster, { signal }) {
      await prepare(signal);
      const found = await balancers('refresh', signal);
      const more = await certificates('refresh', signal);
      return [...found, ...more, ...(await dedicated(signal))];
    },
    async of(query, io) {
      await prepare(io.signal);
      return { found: await readOwner(query, io) };
    },
  };
}
