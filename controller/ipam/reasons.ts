/** Reasons of events on Nodes; the first two are upstream's. */
export const ipamEventReasons = {
  CIDRNotAvailable: 'No part of the pod ranges is free.',
  CIDRAssignmentFailed: 'The range could not be written to the Node; tried again.',
  CIDRNotInClusterCIDR: 'The Node has a range that is not inside `--cluster-cidr`; it stays, and counts for nothing.',
  CIDRMaskDiffers:
    'The Node has a range of another mask than the configured one; it stays, and counts for nothing. While there is room, no other Node is given a part of it.',
  CIDROverlaps: 'The Node has a range that overlaps one of another Node or of the Services; it stays.',
} as const;
export type IpamEventReason = keyof typeof ipamEventReasons;
