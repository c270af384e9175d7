import type { Kind, WriteIo } from '../../../engine/resource.ts';
import type { ApiRequest, JsonApi } from '../../json-api.ts';
import { ownerTags } from '../../load-balancers.ts';
import { foundAddress, kinds, tagsFor } from '../found.ts';
import { type Address, readAddress } from '../load-balancer-answer.ts';
import type { AddressSpec } from '../specs.ts';
import { marksOf, tokenOf } from './calls.ts';

/** A reserved address. */
export function addressKind(api: JsonApi, settleMs: number): Kind<AddressSpec, Address> {
  const send = (request: ApiRequest, { permit, signal }: WriteIo) => api.call({ ...request, permit, signal });
  return {
    kind: kinds.address,
    retryCreate: 'atOnce',
    settleMs,
    compare: () => ({ same: true }),
    async create({ spec: { scheme, family, name, service } }, _, io) {
      const token = tokenOf(`address ${scheme} ${family}`, io);
      const reserve = async (clientToken: string, named?: string) => {
        const body = { clientToken, name: named, family, scheme, tags: tagsFor(io.owner, service) };
        return readAddress(await send({ operation: 'addresses.create', method: 'POST', path: '/addresses', body }, io));
      };
      const first = await reserve(token, name);
      // The token made one that is not ours any more: its tags were taken away. Its name is still taken.
      const made =
        first.tags[ownerTags.service] === io.owner.service ? first : await reserve(`${token} not ${first.id}`);
      return { id: made.id, found: [foundAddress(made)] };
    },
    async remove({ id }, io) {
      await send({ operation: 'addresses.delete', method: 'DELETE', path: `/addresses/${id}` }, io);
      return {};
    },
    async mark({ id, body }, as, want, io) {
      const request = { operation: 'addresses.update', method: 'PATCH', path: `/addresses/${id}` } as const;
      const answer = await send({ ...request, body: marksOf(as, body, want, io) }, io);
      return { found: [foundAddress(readAddress(answer))] };
    },
  };
}
