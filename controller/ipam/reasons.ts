/** Reasons of events on Nodes; the first two are upstream's. */
export const ipamEventReasons = {
  CIDRNotAvailable:
    'No free pod range is left or, with `--cidr-allocator-type=CloudAllocator`, the instance has none that the Node ' +
    'can get: the message says why. The Node is tried again every minute.',
  CIDRAssignmentFailed: 'The range could not be written to the Node. The write is repeated.',
  CIDRNotInClusterCIDR:
    'The Node has a range that is not inside `--cluster-cidr`. The range stays and is not counted as allocated.',
  CIDRMaskDiffers:
    'The Node has a range with another mask than the configured one. The range stays, and no other Node gets a part ' +
    'of it. One as wide as more than 16 ranges of the configured mask, or than a quarter of `--cluster-cidr`, is not ' +
    'counted as allocated: other Nodes get parts of it when no other range is left.',
  CIDROverlaps: 'The Node has a range that overlaps one of another Node or of the Services. The range stays.',
} as const;
export type IpamEventReason = keyof typeof ipamEventReasons;
