import type { Change, Kind } from '../../../engine/resource.ts';
import { memberChanges } from '../../member-changes.ts';
import type { Sent } from '../../sent.ts';
import type { Actions } from './actions.ts';
import { answerOf, isSameSet, usual } from './answer.ts';
import { type FoundParts, groupsOf, isPool, kindNames } from './found.ts';
import { type BackendService, type Project, pathOf, type Shown, type TargetPool } from './project.ts';

/** What a Service asks of its backend service or target pool. References are paths. */
export interface BackendSpec {
  readonly path: string;
  readonly name: string;
  readonly description: string;
  readonly affinity: 'NONE' | 'CLIENT_IP';
  readonly check: string;
  /** Of a backend service. */
  readonly service?: {
    readonly scheme: 'INTERNAL' | 'EXTERNAL';
    readonly protocol: 'TCP' | 'UDP' | 'UNSPECIFIED';
    readonly groups: readonly string[];
    /** More members than get traffic otherwise. */
    readonly isWide: boolean;
  };
  /** Of a target pool. */
  readonly instances?: readonly string[];
}

/** Of a change of a target pool the verb; a backend service is written. */
type Sending =
  | { readonly verb?: undefined; readonly wire: Sent<BackendService> }
  | { [V in keyof Actions]: { readonly verb: V; readonly wire: Actions[V] } }[keyof Actions];

/** The most that a target pool is created with, and that one call adds or removes. */
const [maxAtCreation, maxInCall] = [200, 1000];

export function backendKind(parts: FoundParts): Kind<BackendSpec, Shown<BackendService & TargetPool>> {
  const { project } = parts;
  return {
    ...usual(parts),
    kind: kindNames.backend,
    compare({ body }, spec) {
      const other = backendDifference(body, spec);
      // Of another type, it has room beside the one that stands.
      if (other !== undefined)
        return { replace: other, order: body.path === spec.path ? 'deleteFirst' : 'createFirst' };
      const changes = spec.service === undefined ? poolChanges(body, spec) : serviceChanges(body, spec, project);
      return changes.length === 0 ? { same: true } : { changes };
    },
    async create({ spec }, _inside, io) {
      const { path, service } = spec;
      const wire = service === undefined ? poolWire(spec, project) : serviceWire(spec, project);
      return answerOf(await project.insert<BackendService & TargetPool>(path, wire, io), io, parts);
    },
    async update({ body }, change, io) {
      const { verb, wire } = change.body as Sending;
      if (verb !== undefined) return answerOf(await project.act(body.path, verb, wire, io), io, parts);
      // A version that is old is refused: what others changed meanwhile is read first.
      const whole = { ...wire, fingerprint: body.wire.fingerprint };
      return answerOf(await project.patch<BackendService>(body.path, whole, io), io, parts);
    },
  };
}

/** Why another one has to be made; undefined: it is as it should be, or can be changed. */
export function backendDifference(shown: Shown<BackendService & TargetPool>, spec: BackendSpec): string | undefined {
  const { wire, path } = shown;
  if (path !== spec.path) return isPool(shown) ? 'from target pool to backend service' : 'to target pool';
  const { service } = spec;
  if (service === undefined)
    return (wire.sessionAffinity ?? 'NONE') === spec.affinity ? undefined : `session affinity to ${spec.affinity}`;
  if (wire.loadBalancingScheme !== service.scheme) return `${wire.loadBalancingScheme} to ${service.scheme}`;
  return wire.protocol === service.protocol ? undefined : `protocol ${wire.protocol} to ${service.protocol}`;
}

/** One request writes all of it. */
function serviceChanges({ wire, name }: Shown<BackendService>, spec: BackendSpec, project: Project): Change[] {
  const groups = spec.service!.groups;
  const fields = [
    ...(isSameSet(groupsOf(wire), groups) ? [] : [`${groups.length} instance groups`]),
    ...(isSameSet((wire.healthChecks ?? []).map(pathOf), [spec.check]) ? [] : ['health check']),
    ...((wire.sessionAffinity ?? 'NONE') === spec.affinity ? [] : ['session affinity']),
    ...(policyOf(spec, wire) === policyOf(undefined, wire) ? [] : ['subsetting']),
  ];
  if (fields.length === 0) return [];
  const body = { wire: serviceWire(spec, project, wire) } satisfies Sending;
  return [{ what: 'backend service', summary: `backend service ${name}: ${fields.join(', ')}`, phase: 'set', body }];
}

/**
 * Without subsetting an internal load balancer serves by 250 VMs. To turn it on or off breaks connections, so it stays
 * on; only session affinity excludes it.
 */
function policyOf(spec: BackendSpec | undefined, standing: BackendService): string {
  const { policy } = standing.subsetting ?? {};
  if (spec === undefined) return policy ?? 'NONE';
  if (spec.affinity !== 'NONE') return 'NONE';
  return spec.service?.isWide ? 'CONSISTENT_HASH_SUBSETTING' : (policy ?? 'NONE');
}

function poolWire({ description, affinity, check, instances = [] }: BackendSpec, project: Project) {
  return {
    description,
    sessionAffinity: affinity,
    healthChecks: [project.url(check)],
    instances: instances.slice(0, maxAtCreation).map(project.url),
  } satisfies TargetPool;
}

/** @param standing what a person has set on a group's entry stays */
function serviceWire(spec: BackendSpec, project: Project, standing: BackendService = {}) {
  const { description, service, affinity, check } = spec;
  const { scheme, protocol, groups } = service!;
  const standingOf = (path: string) => standing.backends?.find(({ group }) => group && pathOf(group) === path);
  const policy = policyOf(spec, standing);
  return {
    description,
    subsetting: policy === policyOf(undefined, standing) ? undefined : { policy },
    loadBalancingScheme: scheme,
    protocol,
    sessionAffinity: affinity,
    healthChecks: [project.url(check)],
    backends: groups.map((path) => standingOf(path) ?? { group: project.url(path) }),
  } satisfies Sent<BackendService>;
}

function poolChanges({ wire, name }: Shown<TargetPool>, { instances = [], check }: BackendSpec): Change[] {
  const found = (wire.instances ?? []).map(pathOf);
  const added = instances.filter((path) => !found.includes(path));
  const removed = found.filter((path) => !instances.includes(path));
  const checks = (wire.healthChecks ?? []).map(pathOf);
  const refer = (paths: readonly string[]) => ({ instances: paths.map((path) => ({ instance: path })) });
  const told = <V extends keyof Actions>(what: string, summary: string, verb: V, wire: Actions[V]) => {
    return { what, summary: `target pool ${name}: ${summary}`, body: { verb, wire } };
  };
  const changes = memberChanges(
    { added, removed, count: found.length, atOnce: maxInCall },
    (some, at) => told(`add ${at}`, `add ${some.length} instances`, 'addInstance', refer(some)),
    (some, at) => told(`remove ${at}`, `remove ${some.length} instances`, 'removeInstance', refer(some)),
  );
  // It takes one health check at a time.
  const others = checks.filter((path) => path !== check);
  const healthChecks = others.map(healthCheck);
  if (others.length > 0)
    changes.push({ ...told('old check', 'drop a health check', 'removeHealthCheck', { healthChecks }), phase: 'set' });
  if (!checks.includes(check))
    changes.push({
      ...told('check', 'use another health check', 'addHealthCheck', { healthChecks: [healthCheck(check)] }),
      phase: 'set',
      ...(others.length > 0 && { after: ['old check'] }),
    });
  return changes;
}

const healthCheck = (path: string) => ({ healthCheck: path });
