import type { Change, Kind } from '../../../engine/resource.ts';
import { memberChanges } from '../../member-changes.ts';
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
      const { path, name, description } = spec;
      const wire =
        spec.service === undefined
          ? ({
              name,
              description,
              sessionAffinity: spec.affinity,
              healthChecks: [project.url(spec.check)],
              instances: (spec.instances ?? []).slice(0, maxAtCreation).map(project.url),
            } satisfies TargetPool)
          : { name, description, ...serviceWire(spec, project) };
      return answerOf(await project.insert(path.slice(0, path.lastIndexOf('/')), wire, io), io, parts);
    },
    async update({ body }, change, io) {
      const { verb, wire } = change.body as { readonly verb?: string; readonly wire: object };
      // A version that is old is refused: what others changed meanwhile is read first.
      const whole = { ...wire, fingerprint: body.wire.fingerprint };
      const shown = verb ? project.act(body.path, verb, wire, io) : project.patch(body.path, whole, io);
      return answerOf(await shown, io, parts);
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
  const body = { wire: { description: spec.description, ...serviceWire(spec, project, wire) } };
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

/** @param standing what a person has set on a group's entry stays */
function serviceWire(spec: BackendSpec, project: Project, standing: BackendService = {}) {
  const { service, affinity, check } = spec;
  const { scheme, protocol, groups } = service!;
  const standingOf = (path: string) => standing.backends?.find(({ group }) => group && pathOf(group) === path);
  const policy = policyOf(spec, standing);
  return {
    ...(policy !== policyOf(undefined, standing) && { subsetting: { policy } }),
    loadBalancingScheme: scheme,
    protocol,
    sessionAffinity: affinity,
    healthChecks: [project.url(check)],
    backends: groups.map((path) => standingOf(path) ?? { group: project.url(path) }),
  } satisfies BackendService;
}

function poolChanges({ wire, name }: Shown<TargetPool>, { instances = [], check }: BackendSpec): Change[] {
  const found = (wire.instances ?? []).map(pathOf);
  const added = instances.filter((path) => !found.includes(path));
  const removed = found.filter((path) => !instances.includes(path));
  const checks = (wire.healthChecks ?? []).map(pathOf);
  const refer = (paths: readonly string[]) => ({ instances: paths.map((path) => ({ instance: path })) });
  const told = (what: string, summary: string, verb: string, sent: object) => {
    return { what, summary: `target pool ${name}: ${summary}`, body: { verb, wire: sent } };
  };
  const changes = memberChanges(
    { added, removed, atOnce: maxInCall },
    (some, at) => told(`add ${at}`, `add ${some.length} instances`, 'addInstance', refer(some)),
    (some, at) => told(`remove ${at}`, `remove ${some.length} instances`, 'removeInstance', refer(some)),
  );
  const set = (...one: Parameters<typeof told>) => void changes.push({ ...told(...one), phase: 'set' });
  // It takes one health check at a time.
  const others = checks.filter((path) => path !== check);
  if (others.length > 0)
    set('old check', 'drop a health check', 'removeHealthCheck', { healthChecks: others.map(healthCheck) });
  if (!checks.includes(check))
    set('check', 'use another health check', 'addHealthCheck', { healthChecks: [healthCheck(check)] });
  return changes.map((one) => (one.what === 'check' && others.length > 0 ? { ...one, after: ['old check'] } : one));
}

const healthCheck = (path: string) => ({ healthCheck: path });
