import type { Found, Kind, ResourceName, WriteIo } from '../../../engine/resource.ts';
import { type FloatingIp, foundFloatingIp, foundOnVip, readFloatingIp } from './floating-ip.ts';
import { networkKinds } from './network-kinds.ts';
import type { Neutron } from './neutron.ts';

export interface OnVipSpec {
  readonly floatingIp: ResourceName;
  /** As it was when it was chosen: an address that two Services name goes to one of them. */
  readonly revision: number | undefined;
}

/** That a floating IP of others is on a VIP: its port alone is changed. It ends with the load balancer. */
export function onVipKind(neutron: Neutron): Kind<OnVipSpec | undefined, FloatingIp> {
  async function attach(
    id: string,
    portId: string | null,
    revision: number | undefined,
    io: WriteIo,
  ): Promise<readonly Found[]> {
    const fields = { port_id: portId };
    const answer = await neutron.change({ method: 'PUT', collection: 'floatingips', id, fields, revision }, io);
    return answer.map(readFloatingIp).flatMap((one) => [
      // Still that of others, with what its consent or mark says.
      { ...foundFloatingIp(one), ...(one.portId !== undefined && { retained: false }), consentForAnyCluster: true },
      ...(one.portId === undefined ? [] : [foundOnVip({ ...one, portId: one.portId })]),
    ]);
  }
  return {
    kind: networkKinds.onVip,
    within: networkKinds.vipPort,
    retryCreate: 'atOnce',
    compare(_found, spec, pointsAt) {
      if (spec === undefined || pointsAt('floating IP').includes(spec.floatingIp)) return { same: true };
      return { replace: 'by another floating IP', order: 'deleteFirst' };
    },
    async create({ spec }, _inside, io) {
      const id = io.idOf(spec!.floatingIp);
      return { id, found: await attach(id, io.within!, spec!.revision, io) };
    },
    async remove({ id }, io) {
      return { found: await attach(id, null, undefined, io) };
    },
  };
}
