import type { CloudErrorKind } from '../../common/cloud-error.ts';
import type { ReasonInfo } from '../nodes/reasons.ts';

/** Why the tags of an instance are not as they shall be; the failures of a cloud besides. */
export const nodeTagReasons = {
  Pending: { meaning: 'The call is about to be made, or waits for the rate limit of the flags.', remedy: '' },
  Paused: {
    meaning: 'Everything or the Node is paused.',
    remedy: 'Remove the annotation `mooring.dev/paused`, or the key `paused` of the ConfigMap.',
  },
  InstanceUnknown: {
    meaning: 'The cloud did not say whether the instance of the deleted Node still exists.',
    remedy: "Check the cloud's status and the credential, and run `mooring-controller check`.",
  },
  BudgetExhausted: {
    meaning:
      'Too many Nodes were deleted unexpectedly in a short time. The tags of their instances stay until the budget ' +
      'has room again.',
    remedy: 'Find out why the Nodes disappear.',
  },
} as const satisfies Record<string, ReasonInfo>;
export type NodeTagReason = keyof typeof nodeTagReasons | CloudErrorKind;

/** Reasons of events on Nodes. */
export const nodeTagEventReasons = {
  InstanceTagOverwritten:
    'A tag of the instance had another value than `--tags` asks for, and was given that one. The message has both.',
  InstanceNotTagged: 'The cloud refused the tags of `--tags` for the instance; the message has the reason.',
} as const;
export type NodeTagEventReason = keyof typeof nodeTagEventReasons;
