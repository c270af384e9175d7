import type { Change, Kind } from '../../../engine/resource.ts';
import { freshBalancer, settleMs } from '../clb/balancers.ts';
import { type Balancer, kindNames, type Tags } from '../clb/found.ts';
import { mark, tag, tagChanges, tagList } from '../clb/tags.ts';
import type { AlibabaClient, Params } from '../client.ts';
import type { Place } from '../place.ts';
import { differing, send } from './calls.ts';

export type Zone = {
  readonly ZoneId: string;
  readonly VSwitchId: string;
  readonly PrivateIPv4Address?: string;
  readonly AllocationId?: string;
};

export interface NetworkBalancerSpec {
  readonly name: string;
  readonly isNamed: boolean;
  readonly tags: Tags;
  /** `Internet` or `Intranet`. */
  readonly addressType: string;
  /** It cannot be changed. */
  readonly ipVersion: string;
  readonly zones: readonly Zone[];
  /** Undefined: what stands is left as it is. */
  readonly securityGroups: readonly string[] | undefined;
  readonly isProtected: boolean | undefined;
  readonly modification: string | undefined;
  /** Only for the create. */
  readonly atCreation: Params;
}

/** A Network Load Balancer, without its parts. */
export function networkBalancerKind(client: AlibabaClient, place: Place): Kind<NetworkBalancerSpec, Balancer> {
  return {
    kind: kindNames.balancer,
    locks: true,
    retryCreate: 'afterSearch',
    settleMs,
    compare(found, spec) {
      const { wire, name: before } = found.body;
      const isAs = (field: string, value: unknown) =>
        String(wire[field] ?? '').toLowerCase() === String(value).toLowerCase();
      if (!isAs('AddressIpVersion', spec.ipVersion))
        return { replace: `${String(wire['AddressIpVersion'])} to ${spec.ipVersion}`, order: 'deleteFirst' };
      const changes: Change[] = [];
      const set = (what: string, summary: string, params: Params, of: Partial<Change> = {}) =>
        changes.push({ what, summary: `load balancer ${before}: ${summary}`, phase: 'set', body: params, ...of });
      if (spec.isNamed && before !== spec.name)
        set('UpdateLoadBalancerAttribute', `name ${spec.name}`, { LoadBalancerName: spec.name });
      if (!isAs('AddressType', spec.addressType))
        set('UpdateLoadBalancerAddressTypeConfig', spec.addressType, { AddressType: spec.addressType });
      const zones = new Set(zonesIn(wire));
      const desired = spec.zones.map(({ ZoneId, VSwitchId }) => `${ZoneId}:${VSwitchId}`);
      if (zones.size !== desired.length || !desired.every((one) => zones.has(one)))
        set('UpdateLoadBalancerZones', `zones ${desired.join(', ')}`, { ZoneMappings: spec.zones });
      const protection = protectionOf(spec);
      const shown = {
        DeletionProtectionEnabled: (wire['DeletionProtectionConfig'] as Params | undefined)?.['Enabled'] ?? false,
        ModificationProtectionStatus:
          (wire['ModificationProtectionConfig'] as Params | undefined)?.['Status'] ?? 'NonProtection',
      };
      if (differing(shown, protection).length > 0) set('UpdateLoadBalancerProtection', 'protection', protection);
      const there = (wire['SecurityGroupIds'] ?? []) as readonly string[];
      const join = spec.securityGroups?.filter((one) => !there.includes(one)) ?? [];
      const leave = there.filter((one) => spec.securityGroups !== undefined && !spec.securityGroups.includes(one));
      const groups = (what: string, ids: readonly string[], of: Pick<Change, 'phase' | 'guards'>) =>
        ids.length > 0 && set(what, `security groups ${ids.join(', ')}`, { SecurityGroupIds: ids }, of);
      // Without any group, everybody is let in.
      groups('LoadBalancerJoinSecurityGroup', join, { phase: 'grow', guards: there.length === 0 });
      groups('LoadBalancerLeaveSecurityGroup', leave, { phase: 'shrink' });
      changes.push(...tagChanges(found, spec.tags, `load balancer ${before}`));
      return changes.length === 0 ? { same: true } : { changes };
    },
    // Security groups are joined by calls of their own.
    fresh({ spec: { name, tags, addressType, ipVersion, zones, isProtected, modification } }) {
      const wire = {
        AddressType: addressType,
        AddressIpVersion: ipVersion,
        ZoneMappings: zones,
        SecurityGroupIds: [],
        DeletionProtectionConfig: { Enabled: isProtected ?? false },
        ModificationProtectionConfig: { Status: modification ?? 'NonProtection' },
      };
      return { body: freshBalancer(name, tags, wire) };
    },
    async create({ spec }, _inside, io) {
      const { name, tags, addressType, ipVersion, zones, isProtected, modification, atCreation } = spec;
      const params: Params = {
        LoadBalancerName: name,
        AddressType: addressType,
        AddressIpVersion: ipVersion,
        ...atCreation,
        VpcId: await place.vpc(io.signal),
        ZoneMappings: zones,
        Tag: tagList(tags),
        ...(isProtected && { DeletionProtectionConfig: { Enabled: true } }),
        ...(modification && { ModificationProtectionConfig: { Status: modification } }),
      };
      const answer = await client.change('nlb', 'CreateLoadBalancer', params, io);
      return { id: answer.text('LoadbalancerId') };
    },
    async update({ id }, { what, body }, io) {
      if (what === 'tags') return tag(client, 'loadbalancer', id, body as Tags, io);
      return send(client, what, { LoadBalancerId: id, ...(body as Params) }, io);
    },
    async remove({ id, body }, io) {
      const params = { LoadBalancerId: id };
      if (body.isProtected)
        await send(client, 'UpdateLoadBalancerProtection', { ...params, DeletionProtectionEnabled: false }, io);
      return send(client, 'DeleteLoadBalancer', params, io);
    },
    mark: (found, as, want, io) => mark(client, 'loadbalancer', found, as, want, io),
  };
}

function zonesIn(wire: Balancer['wire']): string[] {
  const zones = (wire['ZoneMappings'] ?? []) as readonly Partial<Zone>[];
  return zones.map(({ ZoneId, VSwitchId }) => `${ZoneId}:${VSwitchId}`);
}

function protectionOf({ isProtected, modification }: NetworkBalancerSpec): Params {
  return {
    ...(isProtected !== undefined && { DeletionProtectionEnabled: isProtected }),
    ...(modification !== undefined && { ModificationProtectionStatus: modification }),
  };
}
