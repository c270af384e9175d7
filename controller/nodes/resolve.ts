import type { Instance, PowerState } from '../../common/instance.ts';
import type { Report, ReportedInstance } from '../../common/report.ts';
import type { InstanceRef, Lookup } from '../clouds/cloud.ts';
import type { ConfiguredCloud } from '../model/configured-cloud.ts';
import { isUninitialized, type NodeView } from '../model/node-view.ts';
import { ownershipOf } from '../model/ownership.ts';
import { reportScope } from '../model/scope-record.ts';
import { isNamed, uuidsAgree, uuidsContradict } from './instance-identity.ts';
import type { LookupBatcher } from './lookup-batcher.ts';
import type { InitializedReason } from './reasons.ts';

/** The instance of a Node, or why it is not known. */
export type Resolution =
  | { readonly kind: 'foreign'; readonly why: string }
  /** `power` is undefined where the instance comes from a report alone. */
  | {
      readonly kind: 'found';
      readonly instance: Instance;
      readonly scope: string;
      readonly power: PowerState | undefined;
    }
  | {
      readonly kind: 'missing';
      readonly state: 'gone' | 'absent';
      readonly message: string;
      /** As below. */
      readonly claimed: boolean;
    }
  | {
      readonly kind: 'waiting';
      readonly reason: InitializedReason;
      readonly message: string;
      readonly retryAfterMs?: number | undefined;
      /**
       * False while nothing claims the Node for a configured cloud: with several clouds and no selector, until a report
       * or exactly one lookup does.
       */
      readonly claimed: boolean;
    };

export interface Resolver {
  readonly configured: readonly ConfiguredCloud[];
  lookupsOf(scope: string): LookupBatcher | undefined;
}

interface Answer {
  readonly cloud: ConfiguredCloud;
  readonly lookup: Lookup;
}

/**
 * Finds the Node's instance. A report that is proved to come from the Node names the candidate. The cloud's API, where
 * one is configured, then decides; otherwise the report is used as it is. Reads only.
 */
export async function resolveInstance(
  node: NodeView,
  report: Report | undefined,
  resolver: Resolver,
): Promise<Resolution> {
  const ownership = ownershipOf(node, resolver.configured);
  if (ownership.kind === 'foreign') return ownership;
  const reported = report?.instance;
  if (ownership.kind === 'owned') return resolveOwned(node, ownership.clouds, reported, resolver);
  const claimed = reported && ownership.clouds.filter((cloud) => claims(cloud, reported));
  if (reported && claimed && claimed.length > 0) return resolveReported(claimed, reported, resolver);
  const resolution = await resolveByName(node, ownership.clouds, resolver);
  const unclaimed = (resolution.kind === 'waiting' || resolution.kind === 'missing') && !ownership.ours;
  return unclaimed ? { ...resolution, claimed: false } : resolution;
}

/** Id and providerID have to agree: reports of a cloud of `--cloud-module` were not checked when they were read. */
function claims(cloud: ConfiguredCloud, reported: ReportedInstance): boolean {
  return cloud.name === reported.cloud && cloud.accepts(reported.providerID) && isNamed(reported.providerID, reported);
}

async function lookUp(clouds: readonly ConfiguredCloud[], ref: InstanceRef, resolver: Resolver): Promise<Answer[]> {
  const answers = clouds.map(async (cloud) => {
    const lookups = resolver.lookupsOf(cloud.scope);
    return lookups === undefined ? undefined : { cloud, lookup: await lookups.lookup(ref) };
  });
  return (await Promise.all(answers)).filter((answer) => answer !== undefined);
}

async function resolveOwned(
  node: NodeView,
  clouds: readonly ConfiguredCloud[],
  reported: ReportedInstance | undefined,
  resolver: Resolver,
): Promise<Resolution> {
  const answers = await lookUp(clouds, { by: 'providerID', providerID: node.providerID }, resolver);
  if (answers.length > 0) return combineAnswers(answers, `instance ${node.providerID}`);
  const cloud = clouds[0];
  const unidentified = clouds.find((each) => each.unidentified !== undefined);
  if (unidentified !== undefined && !isUninitialized(node)) return awaitingAccount(unidentified);
  if (cloud && reported && clouds.some((each) => claims(each, reported))) return fromReport(cloud, reported);
  return awaitingReport(clouds);
}

async function resolveReported(
  clouds: readonly ConfiguredCloud[],
  reported: ReportedInstance,
  resolver: Resolver,
): Promise<Resolution> {
  const answers = await lookUp(clouds, { by: 'providerID', providerID: reported.providerID }, resolver);
  const cloud = clouds[0];
  if (answers.length === 0 && cloud) return fromReport(cloud, reported);
  return combineAnswers(answers, `reported instance ${reported.providerID}`);
}

async function resolveByName(
  node: NodeView,
  clouds: readonly ConfiguredCloud[],
  resolver: Resolver,
): Promise<Resolution> {
  const answers = await lookUp(clouds, { by: 'name', name: node.name }, resolver);
  const reportOnly = clouds.filter((cloud) => cloud.api === undefined);
  if (answers.length === 0) return awaitingReport(reportOnly);
  const resolution = combineAnswers(answers, `an instance named ${node.name}`);
  if (resolution.kind === 'found') return confirmName(node, resolution, clouds);
  // Where no lookup claims the Node, a report of a cloud without an API still may.
  return reportOnly.length > 0 ? awaitingReport(reportOnly) : resolution;
}

/**
 * Two VMs may have one name, and the deletion of one would then delete the Node of the other, so a second fact has to
 * agree. The machine's UUID needs no agent. Without a UUID the Node waits, unless the operator allows the name alone. A
 * UUID that contradicts is refused later.
 */
function confirmName(
  node: NodeView,
  found: Resolution & { readonly kind: 'found' },
  clouds: readonly ConfiguredCloud[],
): Resolution {
  const { id, smbiosUuid, namesakesUnknown } = found.instance;
  if (namesakesUnknown !== undefined && !uuidsAgree(smbiosUuid, node.systemUuid))
    return { kind: 'waiting', reason: 'AwaitingCloud', message: namesakesUnknown, claimed: true };
  const compared = uuidsAgree(smbiosUuid, node.systemUuid) || uuidsContradict(smbiosUuid, node.systemUuid);
  const cloud = clouds.find(({ scope }) => scope === found.scope);
  if (compared || cloud?.bindsByName === true) return found;
  const message =
    `instance ${id} has the name of this Node, which alone proves nothing: no SMBIOS UUID to compare; ` +
    `expected a report of the agent, --provider-id at the kubelet, or --bind-by-name=${cloud?.name} at the controller`;
  return { kind: 'waiting', reason: 'AwaitingReport', message, claimed: true };
}

function awaitingReport(clouds: readonly ConfiguredCloud[]): Resolution {
  const names = [...new Set(clouds.map((cloud) => cloud.name))].join(', ');
  const whys = clouds.flatMap(({ unidentified }) => unidentified?.why ?? []);
  const why =
    whys.length === 0 ? `no API of ${names} is configured` : `${names} did not tell its account (${whys.join('; ')})`;
  return {
    kind: 'waiting',
    reason: 'AwaitingReport',
    message: `${why}, and no report names an instance yet`,
    claimed: true,
  };
}

/** Until the account is known, reports do not overwrite the fields of an initialised Node that came from the API. */
function awaitingAccount({ name, unidentified }: ConfiguredCloud): Resolution {
  const message = `${name} did not tell its account: ${unidentified?.why}`;
  return { kind: 'waiting', reason: 'AwaitingCloud', message, claimed: true };
}

/** Uses the reported instance, where no API is configured. */
function fromReport(cloud: ConfiguredCloud, reported: ReportedInstance): Resolution {
  return { kind: 'found', instance: reported, scope: reportScope(cloud.name), power: undefined };
}

/** Combines the answers of all scopes that may hold the instance. */
function combineAnswers(answers: readonly Answer[], what: string): Resolution {
  const found = answers.filter((answer) => answer.lookup.state === 'found');
  const [first, second] = found;
  if (first && second) {
    const scopes = found.map(({ cloud }) => cloud.scope).join(' and ');
    return { kind: 'waiting', reason: 'AmbiguousInstance', message: `${what} is found in ${scopes}`, claimed: true };
  }
  const failed = answers.find(({ lookup }) => lookup.state === 'unknown' && lookup.error.kind !== 'NotFound');
  if (failed?.lookup.state === 'unknown') {
    const { error } = failed.lookup;
    const reason: InitializedReason = error.kind === 'Conflict' ? 'AmbiguousInstance' : 'AwaitingCloud';
    const message = `${error.kind}: ${error.message}`;
    return { kind: 'waiting', reason, message, retryAfterMs: error.retryAfterMs, claimed: true };
  }
  if (first?.lookup.state === 'found') {
    const { instance, power } = first.lookup;
    return { kind: 'found', instance, scope: first.cloud.scope, power };
  }
  const gone = answers.find(({ lookup }) => lookup.state === 'gone');
  if (gone?.lookup.state === 'gone') {
    return { kind: 'missing', state: 'gone', message: `${what} is ${gone.lookup.terminalState}`, claimed: true };
  }
  if (answers.every(({ lookup }) => lookup.state === 'absent')) {
    return {
      kind: 'missing',
      state: 'absent',
      message: `${what} does not exist in ${answers.map(({ cloud }) => cloud.scope).join(', ')}`,
      claimed: true,
    };
  }
  return {
    kind: 'waiting',
    reason: 'InstanceNotFound',
    message: `${what} was not found in ${answers.map(({ cloud }) => cloud.scope).join(', ')}`,
    claimed: true,
  };
}
