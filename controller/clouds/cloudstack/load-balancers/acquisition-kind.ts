import { isCloudError } from '../../../../common/cloud-error.ts';
import type { Kind, Owner } from '../../../engine/resource.ts';
import { type AcquisitionBody, acquisitionPrefix } from './acquisitions.ts';
import { acquisitionId, kindNames } from './found.ts';
import { tagParams } from './marks.ts';
import type { Project } from './project.ts';

/** In the wants of its Service. */
export const acquisitionName = `${kindNames.acquisition}/main`;

export function networkOfAcquisition(id: string): string {
  return id.split(' ', 1)[0]!;
}

export interface AcquisitionSpec {
  /** VMs: the address is for their network. */
  readonly vms: readonly string[];
}

/** Right before an address is acquired: tags the network with the Service, the time, and what there is already. */
export function acquisitionKind(project: Project): Kind<AcquisitionSpec, AcquisitionBody> {
  const { change, changed, list, networkOf, acquisitions } = project;
  const resource = (network: string) => ({ resourcetype: 'Network', resourceids: [network] });
  const keyOf = ({ service }: Owner) => acquisitionPrefix + service;

  return {
    kind: kindNames.acquisition,
    retryCreate: 'afterSearch',
    compare: ({ body }) => (body.isOld ? { replace: 'it is of an earlier try', order: 'deleteFirst' } : { same: true }),
    async create({ spec: { vms } }, _inside, { owner, permit, signal }) {
      const { id: network } = await networkOf(vms, signal);
      const there = await list('listPublicIpAddresses', 'publicipaddress', {}, { urgency: 'change', signal });
      const value = acquisitions.announcement(owner, there);
      try {
        const params = { ...resource(network), ...tagParams({ [keyOf(owner)]: value }) };
        await changed('createTags', params, { permit, signal });
      } catch (error) {
        // A network of another account: then this process alone knows.
        if (!isCloudError(error) || error.kind !== 'Forbidden') throw error;
      }
      acquisitions.note({ owner, network }, value);
      const id = acquisitionId({ owner, network });
      return { id, found: acquisitions.found().filter((one) => one.id === id) };
    },
    async remove({ body: { network, owner } }, io) {
      // Without a value it goes whatever its value is: an empty one would have to be equal.
      const answer = await change('deleteTags', { ...resource(network), 'tags[0].key': keyOf(owner) }, io);
      acquisitions.note({ owner, network }, undefined);
      return answer;
    },
  };
}
