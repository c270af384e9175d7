import type { compute_v1 } from '@googleapis/compute';
import { CloudError } from '../../../common/cloud-error.ts';
import { gceRegion } from '../../../common/provider-id/gce.ts';
import type { AnswerFields } from '../answer-fields.ts';
import { lookupListed, type VolumePlace, type VolumeRef, type Volumes, volumeKey } from '../volumes.ts';
import { fieldsOf, type GceClient, lastSegment } from './client.ts';
import { namePattern, zonePattern } from './config.ts';
import { cloud, throwProved } from './fault.ts';

const diskFields = fieldsOf<compute_v1.Schema$Disk>('name', 'zone', 'region', 'replicaZones');
/** Of the CSI driver; `UNSPECIFIED` where an in-tree volume without a zone was migrated. */
const shape = /^projects\/([^/]+)\/(zones|regions)\/([^/]+)\/disks\/([^/]+)$/;
const anywhere = 'UNSPECIFIED';

/** What a handle tells; `where` undefined: any zone or region of the project. */
interface Disk {
  readonly project: string | undefined;
  /** `zones/us-central1-a`, `regions/us-central1`. */
  readonly where: string | undefined;
  readonly name: string;
}

/** Persistent disks of one project, zonal and regional. */
export function createVolumes(client: GceClient, project: () => string): Volumes {
  async function search(filter: string | undefined, signal?: AbortSignal): Promise<readonly AnswerFields[]> {
    const fields = `items/*/disks(${diskFields}),items/*/warning/code,unreachables,warning/code,nextPageToken`;
    const query = [...(filter === undefined ? [] : [['filter', filter] as const]), ['fields', fields] as const];
    const path = `/projects/${project()}/aggregated/disks`;
    const { items, unreachable } = await client.aggregated(
      { path, operation: 'disks.aggregatedList', query, signal },
      'disks',
    );
    if (unreachable.size > 0 && filter !== undefined)
      throw failure('Unavailable', `not reached: ${[...unreachable].join(', ')}`);
    return items;
  }

  async function list(refs: readonly VolumeRef[], signal?: AbortSignal): Promise<ReadonlyMap<string, VolumePlace>> {
    const disks = Map.groupBy(await search(undefined, signal), (disk) => disk.text('name'));
    return new Map(
      refs.flatMap((ref): [string, VolumePlace][] => {
        const { where, name } = diskOf(ref)!;
        const found = disks.get(name)?.find((disk) => whereOf(disk) === where);
        return found === undefined ? [] : [[volumeKey(ref), placeOf(found)]];
      }),
    );
  }

  async function read(ref: VolumeRef, signal?: AbortSignal): Promise<VolumePlace | undefined> {
    const { where, name } = diskOf(ref)!;
    if (where === undefined) {
      const found = await search(`name = "${name}"`, signal);
      if (found.length > 1) throw failure('Conflict', `${found.length} disks are named ${name}: label its zone`);
      return found[0] && placeOf(found[0]);
    }
    const resource = `${where}/disks/${name}`;
    const operation = where.startsWith('zones') ? 'disks.get' : 'regionDisks.get';
    const path = `/projects/${project()}/${resource}`;
    const request = { path, operation, query: [['fields', diskFields]], signal } as const;
    return placeOf(await client.call(request).catch(throwProved(resource)));
  }

  return {
    sources: [{ name: 'gcePersistentDisk', idField: 'pdName' }, { name: 'pd.csi.storage.gke.io' }],
    accepts(ref) {
      const disk = diskOf(ref);
      return disk !== undefined && (disk.project === undefined || disk.project === project());
    },
    lookup: (refs, signal) =>
      lookupListed(
        cloud,
        refs,
        (all) => list(all, signal),
        (ref) => read(ref, signal),
      ),
  };
}

/** Undefined for what is no disk, and for names that no request can have. The zone label says where a name is. */
function diskOf({ handle, zones }: VolumeRef): Disk | undefined {
  const [, project, kind, of, name = handle] = shape.exec(handle) ?? [];
  if (!namePattern.test(name)) return undefined;
  const owner = project === anywhere ? undefined : project;
  if (of !== undefined && of !== anywhere)
    return (kind === 'zones' ? zonePattern : namePattern).test(of)
      ? { project: owner, where: `${kind}/${of}`, name }
      : undefined;
  const [zone, other] = zones.filter((one) => zonePattern.test(one));
  const labelled = other === undefined ? zone && `zones/${zone}` : `regions/${gceRegion(other)}`;
  return { project: owner, where: labelled, name };
}

function whereOf(disk: AnswerFields): string {
  const zone = disk.optionalText('zone');
  return zone === undefined ? `regions/${lastSegment(disk.text('region'))}` : `zones/${lastSegment(zone)}`;
}

function placeOf(disk: AnswerFields): VolumePlace {
  const zone = disk.optionalText('zone');
  if (zone !== undefined) return { zones: [lastSegment(zone)], region: gceRegion(lastSegment(zone)) };
  return { zones: disk.texts('replicaZones').map(lastSegment), region: lastSegment(disk.text('region')) };
}

function failure(kind: CloudError['kind'], message: string): CloudError {
  return new CloudError({ kind, cloud, operation: 'disks.aggregatedList', message });
}
