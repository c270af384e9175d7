import { CloudError } from '../../../common/cloud-error.ts';
import type { Clock } from '../../../common/process/clock.ts';
import type { AdoptionInput, DesireInput, LoadBalancerDriver } from '../../clouds/load-balancer-driver.ts';
import type { DesiredLoadBalancer, LoadBalancerRequest, Owner } from '../../clouds/load-balancers.ts';
import { type Permit, WithheldError } from '../../clouds/permit.ts';
import { createEngine, type Engine } from '../../engine/engine.ts';
import type { FoundIndex } from '../../engine/found-index.ts';
import { isUseName } from '../../engine/owner.ts';
import type { Request } from '../../engine/request.ts';
import {
  type Found,
  identityOf,
  kindOf,
  type Query,
  type Reader,
  type Reading,
  type ResourceName,
} from '../../engine/resource.ts';
import { isRecorded } from '../../engine/sender.ts';
import { isWait } from './failures.ts';
import { createLastDone } from './last-done.ts';
import { parseNotes } from './notes.ts';
import { stepOf } from './plan-view.ts';
import { createSession, flush, recordState, type Session } from './session.ts';

export interface ServiceEnginesParts {
  readonly driver: LoadBalancerDriver;
  /** Name of the cloud, for errors. */
  readonly cloud: string;
  readonly clock: Clock;
  /** Aborts when the cloud is closed. */
  readonly signal?: AbortSignal | undefined;
}

/** More ids than any Service has. Limits the reads by id that a forged record can cause. */
const maxRecorded = 20;

/** The request for the desired state of a Service. */
export const ensuring = (desired: DesiredLoadBalancer): LoadBalancerRequest => ({
  owner: desired.owner,
  desired,
  retain: false,
});

/** The queries on the found resources that a driver may use. */
export const queriesOf = ({ ofKind, get, holderOf }: FoundIndex): Pick<DesireInput, 'found' | 'get' | 'holderOf'> => ({
  found: ofKind,
  holderOf,
  get: (kind, id) => get(identityOf({ kind, id })),
});

/** The engine of each cluster, with the session of each Service: its permit, its record and its adoption. */
export function createServiceEngines({ driver, cloud, clock, signal }: ServiceEnginesParts) {
  const ownName = `${driver.main}/main`;
  const kinds = new Map(driver.kinds.map((kind) => [kind.kind, kind]));
  const readers = driver.readers.map(
    (reader): Reader => ({
      ...reader,
      async of(query, io) {
        const session = sessionOf(query.owner);
        // Otherwise it is written with the answer.
        if (session.isApplying) await flush(session, ownName);
        const reading = await reader.of(query, io);
        if (reader.kinds.includes(driver.main)) assertShown(session, query, reading);
        return reading;
      },
    }),
  );
  const engines = new Map<string, Engine<DesireInput>>();
  const sessions = new Map<string, Session>();
  let isEveryServiceDeclared = false;
  let lent: ReadonlySet<string> = new Set();
  let live: ReadonlySet<string> = new Set();

  /**
   * After a read inside of an apply, no check proves the visibility of the credential. So a load balancer that
   * this read lacks is not created again. Throws a CloudError.
   */
  function assertShown({ isApplying, recordedId: id, owner }: Session, { ids }: Query, { found }: Reading): void {
    const is = (one: { readonly kind: string; readonly id: string }) => one.kind === driver.main && one.id === id;
    if (!isApplying || !ids.some(is) || found.some(is)) return;
    const current = engineOf(owner.cluster).found.ofKind(driver.main).find(is);
    if (current?.status !== 'ready' && current?.status !== 'failed') return;
    const message = `${driver.main} ${id} was not found`;
    throw new CloudError({ kind: 'Conflict', cloud, operation: 'read it again', message });
  }

  const { lastDone, desire } = createLastDone({
    driver,
    sessionOf,
    ours,
    inputOf: desireInputOf,
    suppose: (session, desired) => engineOf(desired.owner.cluster).suppose(requestOf(session, ensuring(desired))),
  });

  function engineOf(cluster: string): Engine<DesireInput> {
    const held = engines.get(cluster);
    if (held !== undefined) return held;
    const made = createEngine<DesireInput>({
      driver: { ...driver, readers, desire },
      cluster,
      clock,
      permit: (owner) => (timeoutMs) => permitOf(owner)(timeoutMs),
      saveJournal: (owner, state) => recordState(sessionOf(owner), state, ownName),
      allServicesDeclared: () => isEveryServiceDeclared,
      onStep(owner, step, outcome) {
        const isAccepted = outcome === 'done' || outcome === 'running';
        const isDeferred = typeof outcome === 'object' && isWait(outcome.error);
        if (isAccepted || isDeferred) sessions.get(owner.service)?.options?.onStep?.(stepOf(step), isAccepted);
      },
      ...(signal !== undefined && { signal }),
    });
    engines.set(cluster, made);
    return made;
  }

  /** Creates it where there is none. */
  function sessionOf(owner: Owner): Session {
    const session = sessions.get(owner.service) ?? createSession(owner);
    sessions.set(owner.service, session);
    return session;
  }

  function permitOf({ service }: Owner): Permit {
    const permit = sessions.get(service)?.options?.permit;
    if (permit === undefined) throw new WithheldError('Fenced', 'not sent: nothing was asked for in this process');
    return permit;
  }

  /**
   * Users can write the record, so it proves no ownership of parts of a foreign load balancer, nor of a load balancer
   * that is lent to them.
   */
  function mayBeOwn([name, id]: readonly [ResourceName, string]): boolean {
    const kind = kinds.get(kindOf(name));
    if (kind === undefined || !isRecorded(kind) || isUseName(name)) return false;
    return kind.kind !== driver.main || (name === ownName && !lent.has(id));
  }

  /** Takes over notes that another process wrote. */
  function remember(session: Session, notes: string | undefined, isClaimed: boolean): void {
    session.lastNotes = notes;
    if (session.notes.has(notes)) return;
    session.notes.add(notes);
    const { journalOf, replaceJournal } = engineOf(session.owner.cluster);
    const { ids: written, tried } = parseNotes(notes);
    // A record that was made from marks alone knows less than this process does.
    const known = notes === undefined ? journalOf(session.owner).ids : {};
    const own = Object.entries(written).filter(mayBeOwn).slice(0, maxRecorded);
    const ids = { ...known, ...Object.fromEntries(own) };
    session.tried = tried;
    replaceJournal(session.owner, { claimed: isClaimed, ids, tried });
  }

  function adoptsOf({ ref, owner }: Session): Request<DesireInput>['adopts'] {
    const { adopts } = driver;
    if (ref?.adopt === undefined || adopts === undefined) return undefined;
    const { service, name, id, adopt: proof } = ref;
    const input: AdoptionInput = { owner, service, name, id, proof, found: engineOf(owner.cluster).found.ofKind };
    const isServed = input.found(driver.main).some((one) => one.owner?.service === owner.service);
    return (found) => (isServed && found.kind === driver.main ? undefined : adopts(found, input));
  }

  function desireInputOf(session: Session, desired: DesiredLoadBalancer): DesireInput {
    return { ...queriesOf(engineOf(desired.owner.cluster).found), desired, own: () => ours(session) };
  }

  /** All found resources of one Service. */
  function ours(session: Session): readonly Found[] {
    const { owner } = session;
    const { near, isOurs } = engineOf(owner.cluster).match(owner, adoptsOf(session));
    return near.filter((one) => isOurs(one) && (one.owner === undefined || one.owner.service === owner.service));
  }

  function requestOf(session: Session, { owner, desired, retain }: LoadBalancerRequest): Request<DesireInput> {
    const adopts = adoptsOf(session);
    if (desired === undefined) return { owner, desired, retain, adopts };
    return { owner, desired: desireInputOf(session, desired), mayChangeAddress: desired.mayChangeAddress, adopts };
  }

  return {
    engineOf,
    sessionOf,
    remember,
    requestOf,
    ours,
    lastDone,
    get: (service: string) => sessions.get(service),
    /** Whether it has resources in the cloud and was not declared: what is left of it is removed. */
    isRemoved: (service: string) =>
      !live.has(service) &&
      [...engines.values()].some(({ found }) => found.near(service).some(({ owner }) => owner?.service === service)),
    forget: (service: string) => void sessions.delete(service),
    /** Writes to the Service what is not recorded yet. Throws what the write throws. */
    flush: (session: Session) => flush(session, ownName),
    /** As `declare` of LoadBalancers. */
    declare(desired: readonly DesiredLoadBalancer[], isComplete: boolean, lentIds: ReadonlySet<string>): void {
      lent = lentIds;
      live = new Set(desired.map(({ owner }) => owner.service));
      for (const { owner, isApplying } of sessions.values()) {
        if (live.has(owner.service) || isApplying) continue;
        const engine = engineOf(owner.cluster);
        engine.declare({ owner, desired: undefined });
        // A Service that still has something to remove is remembered again with its next read.
        if (engine.forget(owner)) sessions.delete(owner.service);
      }
      for (const one of desired) engineOf(one.owner.cluster).declare(requestOf(sessionOf(one.owner), ensuring(one)));
      isEveryServiceDeclared = isComplete;
    },
  };
}
