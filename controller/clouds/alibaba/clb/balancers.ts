import type { Change, Kind } from '../../../engine/resource.ts';
import { answerFields } from '../../answer-fields.ts';
import type { AlibabaClient, Params } from '../client.ts';
import { cloud } from '../fault.ts';
import type { Place } from '../place.ts';
import { type Balancer, foundBalancer, kindNames, type Tags } from './found.ts';
import { mark, tag, tagChanges, tagList } from './tags.ts';

export interface BalancerSpec {
  readonly name: string;
  /** The name that an annotation asks for: only then another one is changed. */
  readonly isNamed: boolean;
  readonly tags: Tags;
  /** In the wire's fields: they cannot be changed. */
  readonly fixed: Params;
  /** Changes by the action that makes them; only what was chosen. */
  readonly settings: Readonly<Record<string, Params>>;
  /** Only for the create. */
  readonly atCreation: Params;
}

/** For how long a list may still miss what was made. */
export const settleMs = 5000;
/** What a create does not say. Since June 2025 all are charged by use. */
const defaults = {
  AddressType: 'internet',
  InstanceChargeType: 'PayByCLCU',
  InternetChargeType: 'paybytraffic',
  DeleteProtection: 'off',
  ModificationProtectionStatus: 'NonProtection',
};

/** A load balancer, without its parts. */
export function balancerKind(client: AlibabaClient, place: Place, clusterId: string): Kind<BalancerSpec, Balancer> {
  return {
    // Names are not unique: a create that is sent again makes a second one.
    kind: kindNames.balancer,
    locks: true,
    retryCreate: 'afterSearch',
    settleMs,
    compare(found, { name, isNamed, tags, fixed, settings }) {
      const { body } = found;
      const differs = (params: Params) =>
        Object.entries(params).filter(([field, value]) => value !== undefined && !isShown(body.wire, field, value));
      const [other] = differs(fixed);
      if (other !== undefined)
        return { replace: `${other[0]} ${String(body.wire[other[0]])} to ${String(other[1])}`, order: 'deleteFirst' };
      const changes: Change[] = [];
      const set = (what: string, summary: string, params: Params) =>
        changes.push({ what, summary: `load balancer ${body.name}: ${summary}`, phase: 'set', body: params });
      if (isNamed && body.name !== name) set('SetLoadBalancerName', `name ${name}`, { LoadBalancerName: name });
      for (const [action, params] of Object.entries(takenBy(body.wire, settings))) {
        const fields = differs(params);
        if (fields.length > 0) set(action, fields.map(([field, value]) => `${field} ${value}`).join(', '), params);
      }
      changes.push(...tagChanges(found, tags, `load balancer ${body.name}`));
      return changes.length === 0 ? { same: true } : { changes };
    },
    fresh: ({ spec: { name, tags, fixed, settings } }) => ({
      body: freshBalancer(name, tags, Object.assign({}, fixed, ...Object.values(takenBy(undefined, settings)))),
    }),
    async create({ spec: { name, tags, fixed, settings, atCreation } }, _inside, io) {
      const { signal } = io;
      const isPrivate = fixed['AddressType'] === 'intranet';
      const where = isPrivate
        ? { VpcId: await place.vpc(signal), VSwitchId: fixed['VSwitchId'] ?? (await place.vswitch(signal)) }
        : {};
      const chosen = Object.assign({}, ...Object.values(takenBy(undefined, settings))) as Params;
      const params = { LoadBalancerName: name, ...atCreation, ...chosen, ...fixed, ...where, Tag: tagList(tags) };
      const answer = await client.change('slb', 'CreateLoadBalancer', params, io);
      const id = answer.text('LoadBalancerId');
      const Tags = Object.entries(tags).map(([TagKey, TagValue]) => ({ TagKey, TagValue }));
      const shown = { ...defaults, ...params, ...answer.json(), Tags };
      const found = foundBalancer(answerFields(shown, { cloud, operation: 'CreateLoadBalancer' }), clusterId);
      // Without an address in the answer it is read.
      return { id, ...(found.address !== undefined && { found: [found] }) };
    },
    async update({ id }, { what, body }, io) {
      if (what === 'tags') return tag(client, 'instance', id, body as Tags, io);
      await client.change('slb', what, { LoadBalancerId: id, ...(body as Params) }, io);
      return {};
    },
    async remove({ id, body }, io) {
      const params = { LoadBalancerId: id };
      // The classic controller protects what it makes, and takes that back here, too.
      if (body.isProtected)
        await client.change('slb', 'SetLoadBalancerDeleteProtection', { ...params, DeleteProtection: 'off' }, io);
      await client.change('slb', 'DeleteLoadBalancer', params, io);
      return {};
    },
    mark: (found, as, want, io) => mark(client, 'instance', found, as, want, io),
  };
}

/** What a create leaves. */
export function freshBalancer(name: string, tags: Tags, wire: Balancer['wire']): Balancer {
  return { id: '', name, tags, address: '', isProtected: false, createdAtMs: undefined, wire };
}

/**
 * What is charged by use has no size and no bandwidth to choose, and cannot be charged by size again. Since June 2025
 * no other ones are made.
 * @param wire undefined: of a new one
 */
export function takenBy(
  wire: Balancer['wire'] | undefined,
  settings: BalancerSpec['settings'],
): BalancerSpec['settings'] {
  // The charge type is shown on the China site alone.
  const isByUse =
    wire === undefined || wire['InstanceChargeType'] === 'PayByCLCU' || wire['LoadBalancerSpec'] === 'slb.lcu.elastic';
  const staysBySize = settings['ModifyLoadBalancerInstanceChargeType']?.['InstanceChargeType'] !== 'PayByCLCU';
  if (!isByUse && staysBySize) return settings;
  const isOfSize = ({ LoadBalancerSpec, InstanceChargeType, InternetChargeType }: Params) =>
    LoadBalancerSpec !== undefined || InstanceChargeType === 'PayBySpec' || InternetChargeType === 'paybybandwidth';
  return Object.fromEntries(Object.entries(settings).filter(([, params]) => !isOfSize(params)));
}

/** As the answers spell it: an address type is shown as it was sent, a charge type under another name. */
function isShown(wire: Balancer['wire'], field: string, value: Params[string]): boolean {
  const shown = field === 'InternetChargeType' ? (wire['InternetChargeTypeAlias'] ?? wire[field]) : wire[field];
  return shown === undefined ? field !== 'AddressType' : String(shown).toLowerCase() === String(value).toLowerCase();
}
