import type { Kind } from '../../../engine/resource.ts';
import { answerOf, usual } from './answer.ts';
import { type FoundParts, kindNames, usersOf } from './found.ts';
import type { HealthCheck, LegacyHealthCheck, Shown } from './project.ts';

/** HTTP on the nodes. */
export interface CheckSpec {
  readonly path: string;
  readonly name: string;
  readonly description: string;
  readonly port: number;
  readonly requestPath: string;
}

type Wire = HealthCheck & LegacyHealthCheck;
/** Seconds and counts of the classic controller. */
const defaults = { checkIntervalSec: 8, timeoutSec: 1, healthyThreshold: 1, unhealthyThreshold: 3 } satisfies Wire;
const limits = Object.entries(defaults) as [keyof typeof defaults, number][];

const isLegacy = (path: string) => path.includes('/httpHealthChecks/');

/** Of one Service, or of all that kube-proxy answers for. A target pool takes no other than a legacy one. */
export function checkKind(parts: FoundParts): Kind<CheckSpec, Shown<Wire>> {
  const { project } = parts;
  return {
    ...usual(parts),
    kind: kindNames.check,
    merge: ([spec]) => spec!,
    usedBy: ({ body }) => usersOf(body, [body.path], parts),
    compare({ body }, spec) {
      const { port, requestPath } = isLegacy(body.path) ? body.wire : (body.wire.httpHealthCheck ?? {});
      // Larger values are a person's, and stay.
      const small = limits.filter(([name, least]) => (body.wire[name] ?? 0) < least);
      if (port === spec.port && requestPath === spec.requestPath && small.length === 0) return { same: true };
      const summary = `health check ${spec.name}: port ${spec.port}, ${spec.requestPath}`;
      const chosen = limits.map(([name, least]) => [name, Math.max(body.wire[name] ?? 0, least)] as const);
      const wire = { ...wireOf(spec), ...Object.fromEntries(chosen) };
      return { changes: [{ what: 'check', summary, phase: 'set', body: wire }] };
    },
    async create({ spec }, _inside, io) {
      return answerOf(await project.insert<Wire>(spec.path, wireOf(spec), io), io, parts);
    },
    async update({ body }, change, io) {
      return answerOf(await project.patch<Wire>(body.path, change.body as Wire, io), io, parts);
    },
  };
}

function wireOf({ path, description, port, requestPath }: CheckSpec) {
  const http = { port, requestPath } satisfies LegacyHealthCheck & HealthCheck['httpHealthCheck'];
  if (isLegacy(path)) return { description, ...defaults, ...http } satisfies LegacyHealthCheck;
  return { description, ...defaults, type: 'HTTP', httpHealthCheck: http } satisfies HealthCheck;
}
