import type { Change, Kind } from '../../../engine/resource.ts';
import { chunks } from '../../parallel.ts';
import type { AlibabaClient, Params } from '../client.ts';
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
      const change = (what: 'add' | 'remove', phase: Change['phase'], some: readonly string[]) =>
        chunks(some, rangesAtOnce).map((each, at): Change => {
          const summary = `access list ${name}: ${what} ${each.join(', ')}`;
          // Without a range it lets everybody in.
          const guards = what === 'add' && at === 0 && body.ranges.length === 0;
          return { what: `${what} ${at}`, phase, summary, guards, body: { what, ranges: each } };
        });
      const changes = [
        ...change(
          ...(['add', 'grow'] as const),
          ranges.filter((range) => !body.ranges.includes(range)),
        ),
        ...change(
          ...(['remove', 'shrink'] as const),
          body.ranges.filter((range) => !ranges.includes(range)),
        ),
      ];
      return changes.length === 0 ? { same: true } : { changes };
    },
    fresh: ({ spec: { name, tags } }) => ({ body: { name, tags, ranges: [] } }),
    async create({ spec: { name, tags, version } }, _inside, { permit, signal, owner }) {
      const params = { AclName: name, AddressIPVersion: version, Tag: tagList(tags) };
      const request = { product: 'slb', action: 'CreateAccessControlList', params, permit, signal } as const;
      const id = (await client.call(request)).text('AclId');
      const body: AccessList = { name, tags, ranges: [] };
      return { id, found: [{ kind: kindNames.list, id, owner, key: listKey(version), status: 'ready', body }] };
    },
    async update(found, change, { permit, signal }) {
      const { what, ranges } = change.body as { readonly what: 'add' | 'remove'; readonly ranges: readonly string[] };
      const action = `${what === 'add' ? 'Add' : 'Remove'}AccessControlListEntry`;
      const AclEntrys = JSON.stringify(ranges.map((entry) => ({ entry, ...(what === 'add' && { comment: '' }) })));
      const params: Params = { AclId: found.id, AclEntrys };
      await client.call({ product: 'slb', action, params, permit, signal });
      const rest = found.body.ranges.filter((range) => !ranges.includes(range));
      const now = what === 'add' ? [...rest, ...ranges] : rest;
      return { found: [{ ...found, body: { ...found.body, ranges: now } }] };
    },
    async remove({ id }, { permit, signal }) {
      await client.call({ product: 'slb', action: 'DeleteAccessControlList', params: { AclId: id }, permit, signal });
      return {};
    },
    mark: (found, as, want, io) => mark(client, 'acl', found, as, want, io),
  };
}
