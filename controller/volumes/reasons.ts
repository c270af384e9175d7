/** Reasons of events on PersistentVolumes, and values of the label `reason` of `mooring_volumes_waiting`. */
export const volumeEventReasons = {
  VolumeNotFound:
    'The cloud has no such volume in the configured scope. It is looked up again with growing delays, up to ten ' +
    'minutes.',
  VolumeLookupFailed: 'The cloud could not tell about the volume; the message says why. Tried again as above.',
  VolumeTopologyDiffers:
    'A zone or region label of the PersistentVolume has another value than the cloud tells, or its node affinity ' +
    'excludes what the cloud tells. Both stay, and nothing is added to this PersistentVolume.',
  VolumeTopologyUnusable:
    'The zone or region of the volume cannot be the value of a label, so the PersistentVolume gets no labels.',
} as const;
export type VolumeEventReason = keyof typeof volumeEventReasons;
