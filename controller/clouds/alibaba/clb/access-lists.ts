import type { Change, Kind } from '../../../engine/resource.ts';
import { chunks } from '../../parallel.ts';
import type { AlibabaClient } from '../client.ts';
import { settleMs } from './balancers.ts';
import { type AccessList, kindNames, listKey, type Tags } from './found.ts';
import { mark, tagList } from './tags.ts';

export interface ListSpec {
  readonly name: string;
  readonly tags: Tags;
  readonly version: 'ipv4' | 'ipv6';
  /** Normalised CIDRs. */
  readonly ranges: readonly string[];
}

/** The most that one call takes. */
const rangesAtOnce = 50;

/** The ranges that the listeners of one Service take connections from. */
export function listKind(client: AlibabaClient): Kind<ListSpec, AccessList> {
  return {
    kind: kindNames.list,
    retryCreate: 'afterSearch',
    settleMs,
    compare({ body }, { name, ranges }) {
      const change = (what: 'add' | 'remove', some: readonly string[]) =>
        chunks(some, rangesAtOnce).map((each, at): Change => {
          const summary = `access list ${name}: ${what} ${each.join(', ')}`;
          // Without a range it lets everybody in.
          const guards = what === 'add' && at === 0 && body.ranges.length === 0;
          const phase = what === 'add' ? 'grow' : 'shrink';
          return { what: `${what} ${at}`, phase, summary, guards, body: { what, ranges: each } };
        });
      const added = ranges.filter((range) => !body.ranges.includes(range));
      const removed = body.ranges.filter((range) => !ranges.includes(range));
      const changes = [...change('add', added), ...change('remove', removed)];
      return changes.length === 0 ? { same: true } : { changes };
    },
    fresh: ({ spec: { name, tags } }) => ({ body: { name, tags, ranges: [] } }),
    async create({ spec: { name, tags, version } }, _inside, io) {
      const params = { AclName: name, AddressIPVersion: version, Tag: tagList(tags) };
      const id = (await client.change('slb', 'CreateAccessControlList', params, io)).text('AclId');
      const body: AccessList = { name, tags, ranges: [] };
      return {
        id,
        found: [{ kind: kindNames.list, id, owner: io.owner, key: listKey(version), status: 'ready', body }],
      };
    },
    async update(found, change, io) {
      const { what, ranges } = change.body as { readonly what: 'add' | 'remove'; readonly ranges: readonly string[] };
      const action = `${what === 'add' ? 'Add' : 'Remove'}AccessControlListEntry`;
      const AclEntrys = JSON.stringify(ranges.map((entry) => ({ entry, ...(what === 'add' && { comment: '' }) })));
      await client.change('slb', action, { AclId: found.id, AclEntrys }, io);
      const rest = found.body.ranges.filter((range) => !ranges.includes(range));
      const now = what === 'add' ? [...rest, ...ranges] : rest;
      return { found: [{ ...found, body: { ...found.body, ranges: now } }] };
    },
    async remove({ id }, io) {
      await client.change('slb', 'DeleteAccessControlList', { AclId: id }, io);
      return {};
    },
    mark: (found, as, want, io) => mark(client, 'acl', found, as, want, io),
  };
}
