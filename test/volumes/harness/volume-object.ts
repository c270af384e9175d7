import { simulatedDriver } from '../../../controller/clouds/simulated/volumes.ts';

export interface VolumeChanges {
  /** Default: the name of the PersistentVolume. */
  readonly disk?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly spec?: object;
}

export const zoneLabel = 'topology.kubernetes.io/zone';
export const regionLabel = 'topology.kubernetes.io/region';

export function affinityTo(zones: readonly string[], region: string) {
  const matchExpressions = [
    { key: zoneLabel, operator: 'In', values: zones },
    { key: regionLabel, operator: 'In', values: [region] },
  ];
  return { required: { nodeSelectorTerms: [{ matchExpressions }] } };
}

/** As a client creates it. */
export function volumeObject(name: string, { disk = name, labels, annotations, spec }: VolumeChanges = {}) {
  return {
    apiVersion: 'v1',
    kind: 'PersistentVolume',
    metadata: { name, ...(labels && { labels }), ...(annotations && { annotations }) },
    spec: {
      capacity: { storage: '1Gi' },
      accessModes: ['ReadWriteOnce'],
      persistentVolumeReclaimPolicy: 'Retain',
      ...(spec ?? { csi: { driver: simulatedDriver, volumeHandle: disk } }),
    },
  };
}
