import type { Message } from '../kube/protobuf.ts';

/**
 * The fields of a Node that `viewNode` reads, by their numbers in `k8s.io/api/core/v1/generated.proto`, which never
 * change. Images and managed fields are 10 of a Node's 12 KB.
 */
export const nodeFields: Message = {
  1: [
    'metadata',
    {
      one: {
        1: ['name', 'string'],
        5: ['uid', 'string'],
        6: ['resourceVersion', 'string'],
        8: ['creationTimestamp', 'time'],
        9: ['deletionTimestamp', 'time'],
        11: ['labels', 'map'],
        12: ['annotations', 'map'],
      },
    },
  ],
  2: [
    'spec',
    {
      one: {
        1: ['podCIDR', 'string'],
        3: ['providerID', 'string'],
        5: [
          'taints',
          {
            list: {
              1: ['key', 'string'],
              2: ['value', 'string'],
              3: ['effect', 'string'],
              4: ['timeAdded', 'time'],
            },
          },
        ],
        7: ['podCIDRs', 'strings'],
      },
    },
  ],
  3: [
    'status',
    {
      one: {
        4: [
          'conditions',
          {
            list: {
              1: ['type', 'string'],
              2: ['status', 'string'],
              4: ['lastTransitionTime', 'time'],
              5: ['reason', 'string'],
              6: ['message', 'string'],
            },
          },
        ],
        5: ['addresses', { list: { 1: ['type', 'string'], 2: ['address', 'string'] } }],
        7: ['nodeInfo', { one: { 2: ['systemUUID', 'string'] } }],
      },
    },
  ],
};
