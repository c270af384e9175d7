import type { Found, Kind, ResourceName } from '../../../engine/resource.ts';
import type { HuaweiClient } from '../client.ts';
import { type Eip, foundBound, type Json, keepMark, kindNames } from './found.ts';
import { printAlias, printRetained } from './marks.ts';
import { erase, type Mutating, settleMs } from './parts.ts';

export interface EipSpec {
  /** `namespace/name`. */
  readonly service: string;
  readonly keep: boolean;
  /** Of the create: type and bandwidth. */
  readonly type: string;
  readonly bandwidth: Json;
}
export interface BoundSpec {
  readonly eip: ResourceName;
}

/** The alias of one that is kept without a Service. */
const keptAlias = 'kept-by-mooring';
const path = '/v3/{project}/eip/publicips';

/** EIPs that are made for one Service: the name, which comes with the create, says whose they are. */
export function eipKind(client: HuaweiClient): Kind<EipSpec, Eip> {
  async function set(found: Found<Eip>, publicip: Json, { permit, signal }: Mutating) {
    const body = { publicip };
    await client.send({ service: 'eip', path: `${path}/${found.id}`, method: 'PUT', body, permit, signal });
    return {};
  }
  const retain = (found: Found<Eip>, io: Mutating) =>
    set(found, { alias: keptAlias, description: printRetained(found.body.description.split('=')[1]) }, io);
  const described = ({ service, keep }: Pick<EipSpec, 'service' | 'keep'>) =>
    `${keep ? keepMark : 'mooring.dev/service'}=${service}`;

  return {
    kind: kindNames.eip,
    retryCreate: 'afterSearch',
    settleMs,
    compare({ body }, spec) {
      if (body.marks.owner === undefined || body.description === described(spec)) return { same: true };
      const summary = `EIP ${body.ip}: ${spec.keep ? 'kept' : 'goes'} when its Service goes`;
      return { changes: [{ what: 'describe', phase: 'set', summary, body: { description: described(spec) } }] };
    },
    // Its name says whose it is, and no more.
    fresh: () => ({
      body: { ip: '', description: '', marks: { owner: { cluster: '', service: '' } }, keep: false, holder: undefined },
    }),
    async create({ spec: { type, bandwidth } }, _inside, { owner, permit, signal }) {
      const alias = printAlias(owner);
      const body = { publicip: { type, ip_version: 4, alias }, bandwidth: { name: alias, ...bandwidth } };
      const request = {
        service: 'eip',
        path: '/v1/{project}/publicips',
        method: 'POST',
        body,
        permit,
        signal,
      } as const;
      return { id: (await client.call(request)).object('publicip').text('id') };
    },
    update: (found, { body }, io) => set(found, body as Json, io),
    remove(found, io) {
      if (found.body.keep) return retain(found, io);
      const { permit, signal } = io;
      return erase(client, { service: 'eip', path: `/v1/{project}/publicips/${found.id}`, permit, signal });
    },
    mark(found, as, want, io) {
      if (as === 'retained') return retain(found, io);
      return set(found, { alias: printAlias(io.owner), description: described(want!.spec) }, io);
    },
  };
}

/** That an EIP is on a load balancer: it shows the address, and ends with the load balancer. */
export function boundKind(client: HuaweiClient): Kind<BoundSpec, string> {
  return {
    kind: kindNames.bound,
    within: kindNames.balancer,
    retryCreate: 'atOnce',
    settleMs,
    compare: (_found, { eip }, pointsAt) =>
      pointsAt('eip').includes(eip) ? { same: true } : { replace: 'by another EIP', order: 'deleteFirst' },
    async create({ spec: { eip } }, _inside, { idOf, within, permit, signal }) {
      const id = idOf(eip);
      const body = { publicip: { associate_instance_type: 'ELB', associate_instance_id: within } };
      const request = { service: 'eip', path: `${path}/${id}/associate-instance`, method: 'POST', body } as const;
      const answer = (await client.call({ ...request, permit, signal })).object('publicip');
      const bound = foundBound(within!, id, answer.text('public_ip_address'));
      return { id: bound.id, found: [bound as Found<string>] };
    },
    async remove({ id }, { permit, signal }) {
      const eip = id.split('/')[1];
      const request = { service: 'eip', path: `${path}/${eip}/disassociate-instance`, method: 'POST' } as const;
      await client.send({ ...request, body: {}, permit, signal });
      return {};
    },
  };
}
