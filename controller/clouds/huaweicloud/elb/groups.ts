import type { Kind } from '../../../engine/resource.ts';
import type { HuaweiClient } from '../client.ts';
import { foundGroup, type Group, kindNames } from './found.ts';
import { printMarks, printRetained } from './marks.ts';
import { elbPath, erase, settleMs, write } from './parts.ts';

export interface GroupSpec {
  readonly name: string;
  /** `namespace/name`. */
  readonly service: string;
  /** Normalised CIDRs. */
  readonly ranges: readonly string[];
}

const collection = 'ipgroups';
const listed = (ranges: readonly string[]) => ranges.map((ip) => ({ ip, description: '' }));

/** The ranges that the listeners of one Service take connections from. They are written together. */
export function groupKind(client: HuaweiClient): Kind<GroupSpec, Group> {
  return {
    kind: kindNames.group,
    retryCreate: 'afterSearch',
    settleMs,
    compare({ body }, { name, ranges }) {
      if ([...body.ranges].sort().join() === [...ranges].sort().join()) return { same: true };
      const summary = `IP group ${name}: ${ranges.join(', ')}`;
      return { changes: [{ what: 'ranges', phase: 'set', summary, body: { ip_list: listed(ranges) } }] };
    },
    async create({ spec: { name, service, ranges } }, _inside, io) {
      const body = { name, description: printMarks(io.owner, service), ip_list: listed(ranges) };
      const found = foundGroup(await write(client, collection, undefined, body, io));
      return { id: found.id, found: [found] };
    },
    async update({ id }, { body }, io) {
      return { found: [foundGroup(await write(client, collection, id, { ...(body as object) }, io))] };
    },
    remove: ({ id }, { permit, signal }) =>
      erase(client, { service: 'elb', path: `${elbPath}/ipgroups/${id}`, permit, signal }),
    async mark({ id, body }, as, want, io) {
      const service = want?.spec.service ?? body.marks.service;
      const description = as === 'ours' ? printMarks(io.owner, service!) : printRetained(service);
      return { found: [foundGroup(await write(client, collection, id, { description }, io))] };
    },
  };
}
