import type { Answer, Kind, WriteIo } from '../../../engine/resource.ts';
import { memberChanges } from '../../member-changes.ts';
import { answerOf, usual } from './answer.ts';
import { type FoundParts, kindNames, usersOf } from './found.ts';
import type { InstanceGroup, Shown } from './project.ts';

/** An unmanaged group of one zone. A VM can be in one such group behind load balancers: all Services share it. */
export interface GroupSpec {
  readonly path: string;
  readonly name: string;
  readonly description: string;
  /** Paths. */
  readonly instances: readonly string[];
}

/** The most in a group. */
const maxInstances = 1000;

export function groupKind(parts: FoundParts): Kind<GroupSpec, Shown> {
  const { project } = parts;
  async function send(verb: 'addInstances' | 'removeInstances', to: Shown, paths: readonly string[], io: WriteIo) {
    const instances = paths.map((one) => ({ instance: project.url(one) }));
    return answerOf(await project.act(to.path, verb, { instances }, io), io, parts);
  }
  return {
    ...usual(parts),
    kind: kindNames.group,
    locks: true,
    // Each Service has all nodes that may be members, so nothing is missing where only some are known.
    merge: (specs) => ({
      ...specs[0]!,
      instances: [...new Set(specs.flatMap(({ instances }) => instances))].sort().slice(0, maxInstances),
    }),
    usedBy: ({ body }) => usersOf(body, [body.path], parts),
    compare({ body }, { instances }) {
      const found = body.instances ?? [];
      const added = instances.filter((path) => !found.includes(path));
      const removed = found.filter((path) => !instances.includes(path));
      const changes = memberChanges(
        { added, removed, count: found.length },
        (some, at) => ({ what: `add ${at}`, summary: `add ${some.length} to ${body.path}`, body: some }),
        (some, at) => ({ what: `remove ${at}`, summary: `remove ${some.length} from ${body.path}`, body: some }),
      );
      return changes.length === 0 ? { same: true } : { changes };
    },
    fresh: ({ spec }) => ({ body: { path: spec.path, name: spec.name, id: '', wire: {}, instances: [] } }),
    async create({ spec }, _inside, io) {
      const { path, description } = spec;
      return answerOf(await project.insert<InstanceGroup>(path, { description }, io), io, parts);
    },
    async update({ body }, { phase, body: change }, io) {
      // Another Service may have done it meanwhile, and the API takes no change twice.
      const now = project.at(body.path) ?? body;
      const isThere = (path: string) => now.instances?.includes(path) === true;
      const left = (change as readonly string[]).filter((path) => isThere(path) !== (phase === 'grow'));
      if (left.length === 0) return answerOf(now, io, parts);
      if (phase === 'shrink') return send('removeInstances', body, left, io);
      // One that does not exist keeps the call from adding any.
      const addThose = async (): Promise<Answer> => {
        const there = left.filter((path) => project.goneError(path) === undefined);
        try {
          return there.length === 0 ? {} : await send('addInstances', body, there, io);
        } catch (error) {
          if (!there.some((path) => project.goneError(path) !== undefined)) throw error;
          return addThose();
        }
      };
      const answer = await addThose();
      const [gone] = left.flatMap((path) => project.goneError(path) ?? []);
      if (gone !== undefined) throw gone;
      return answer;
    },
  };
}
