import { DescribeVolumesCommand, type Volume } from '@aws-sdk/client-ec2';
import { chunks } from '../parallel.ts';
import { lookupGroups, type VolumeLookup, type VolumeRef, type Volumes, volumeKey } from '../volumes.ts';
import type { Ec2 } from './ec2.ts';
import { invalid } from './errors.ts';
import { everyPage } from './pages.ts';

/** EC2 takes up to 200 values a filter. */
const idsPerFilter = 200;
const operation = 'DescribeVolumes';
/** `vol-…`, in-tree also `aws://zone/vol-…`, as the classic controller writes and reads it. */
const shape = /^(?:aws:\/\/([a-z0-9-]*)\/)?(vol-[0-9A-Za-z]+)$/;

/** EBS volumes of one region. A filter by ids is complete: an id that it leaves out does not exist. */
export function createVolumes(ec2: Pick<Ec2, 'read'>, region: string): Volumes {
  async function read(refs: readonly VolumeRef[], signal?: AbortSignal): Promise<ReadonlyMap<string, VolumeLookup>> {
    const ids = [...new Set(refs.map(idOf))];
    const volumes = await everyPage(operation, async (NextToken) => {
      const request = { Filters: [{ Name: 'volume-id', Values: ids }], ...(NextToken && { NextToken }) };
      const answer = await ec2.read(new DescribeVolumesCommand(request), { signal });
      return { items: answer.Volumes ?? [], next: answer.NextToken };
    });
    const byId = new Map(volumes.map((volume) => [volume.VolumeId, volume]));
    return new Map(
      refs.flatMap((ref): [string, VolumeLookup][] => {
        const volume = byId.get(idOf(ref));
        return volume ? [[volumeKey(ref), lookupOf(volume, region)]] : [];
      }),
    );
  }

  return {
    sources: [{ name: 'awsElasticBlockStore', idField: 'volumeID' }, { name: 'ebs.csi.aws.com' }],
    accepts({ handle }) {
      const [, zone = ''] = shape.exec(handle) ?? [undefined, 'no volume'];
      return zone === '' || zone.startsWith(region);
    },
    lookup: (refs, signal) => lookupGroups('aws', chunks(refs, idsPerFilter), (group) => read(group, signal)),
  };
}

function idOf({ handle }: VolumeRef): string {
  return shape.exec(handle)?.[2] ?? handle;
}

function lookupOf({ VolumeId, AvailabilityZone: zone }: Volume, region: string): VolumeLookup {
  if (zone) return { state: 'found', place: { zones: [zone], region } };
  return { state: 'unknown', error: invalid(operation, `AvailabilityZone of ${VolumeId}: missing`) };
}
