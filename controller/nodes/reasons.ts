/**
 * The closed sets of reason codes that conditions, events, metrics and `explain` use. The reference page is generated from here.
 */
export interface ReasonInfo {
  readonly meaning: string;
  /** What an operator may do about it; empty when nothing need be done. */
  readonly remedy: string;
}

/** Reasons of the condition CloudInitialized. */
export const initializedReasons = {
  Initialized: { meaning: 'The Node carries what its cloud says and is open for pods.', remedy: '' },
  TopologyDrift: {
    meaning:
      'The instance now reports another zone or region than the Node was labelled with; the labels are left alone, since volumes and scheduling depend on them.',
    remedy: 'Drain the Node and let it register again, or accept the old labels.',
  },
  AwaitingReport: {
    meaning:
      'The agent on this Node has not reported yet, and nothing else tells its instance: the cloud has no API here, did not tell its account yet, or knows an instance by the name of the Node alone.',
    remedy:
      'Look at the agent pod on the Node: its log and /readyz say what it lacks. Or give the kubelet --provider-id.',
  },
  AwaitingCloud: {
    meaning: "The cloud's API did not answer usefully; the message says how. Tried again with back-off.",
    remedy: "Look at the cloud's status, the credential and `mooring-controller check`.",
  },
  InstanceNotFound: {
    meaning: 'No configured cloud knows an instance for this Node.',
    remedy:
      'Compare the Node name with the instance name, give the kubelet --provider-id, or run the agent on the Node.',
  },
  AmbiguousInstance: {
    meaning: 'More than one instance, or more than one configured cloud, claims this Node.',
    remedy: 'Give the kubelet --provider-id, run the agent on the Node, or set --node-selector.',
  },
  IdentityConflict: {
    meaning:
      'What is known of this Node contradicts itself (providerID, incarnation, SMBIOS UUID, address, the signed document of its VM, or an instance or a reported address that another live Node holds). It is not written and keeps its taint.',
    remedy: 'Read the message; usually the Node must be deleted and its kubelet restarted so that it registers anew.',
  },
  AttestationRequired: {
    meaning:
      'The flag --require-attestation holds for this cloud, and no signed document of the VM proves yet that the Node is the instance it names. It is not initialised and joins no load balancer.',
    remedy:
      "Look at the agent on the Node (`mooring_agent_evidence_total`, its log) and at the message; the cloud's page says what the VM needs.",
  },
  WriteRefused: {
    meaning: 'The API server refuses what would be written on the Node; the message says why.',
    remedy: "Check the controller's RBAC and the admission webhooks for Nodes.",
  },
  InvalidNodeIP: {
    meaning: 'The annotation alpha.kubernetes.io/provided-node-ip does not parse.',
    remedy: "Correct the kubelet's --node-ip: one address, or two of different families separated by a comma.",
  },
} as const satisfies Record<string, ReasonInfo>;
export type InitializedReason = keyof typeof initializedReasons;

/** Reasons of the condition CloudInstanceMissing: True while the cloud says that a Node's instance is gone or absent. */
export const missingReasons = {
  Found: { meaning: 'The instance was found again.', remedy: '' },
  Confirming: {
    meaning: 'The instance looks gone; the answer is being confirmed before the Node is deleted.',
    remedy: '',
  },
  SignOfLife: {
    meaning:
      'The cloud says the instance is gone, but the Node renews its lease, reports, or is Ready. Life vetoes deletion.',
    remedy:
      "Check that the controller's credential and scope are the Node's own. If a new VM has taken the Node's name, delete the Node and restart its kubelet, so that it registers again.",
  },
  InstanceReplaced: {
    meaning:
      'The instance that the Node stands for is gone, but the Node lives and its agent reports another instance: a new VM has taken its name. A providerID cannot be changed.',
    remedy: 'Delete the Node and restart its kubelet, so that it registers again.',
  },
  CanaryNotFound: {
    meaning:
      'Nothing else of the scope was found either: no other recorded instance in the same pass or, where there is no other, none since the credential was loaded. Total absence is not believed.',
    remedy:
      'The credential probably sees another project or nothing at all: run `mooring-controller check`. If the VMs are really gone, annotate each Node with mooring.dev/release-deletion=<its uid>.',
  },
  NeverFound: {
    meaning: 'This instance was never found in this scope, as recorded on the Node; its absence proves nothing.',
    remedy: 'Delete the Node by hand if its machine is really gone.',
  },
  TooYoung: { meaning: 'The Node is younger than five minutes, and clouds show new instances late.', remedy: '' },
  BudgetExhausted: {
    meaning:
      'Too many Nodes lost their instances lately, without explanation or as announced; deletion waits for the window to move.',
    remedy:
      'Find out why they vanish. To let one go now, annotate the Node with mooring.dev/release-deletion=<its uid>.',
  },
  DeletionPaused: {
    meaning:
      'All the evidence says that the instance is gone. The key paused-nodes of the ConfigMap mooring-ca keeps the Node.',
    remedy: 'Take the name of the Node out of paused-nodes to let it go.',
  },
  CloudUnknown: {
    meaning: "The cloud's API did not answer the confirming question; unknown is never absent.",
    remedy: '',
  },
  LifeUnknown: { meaning: 'The API server did not answer when the Node was read again before deletion.', remedy: '' },
} as const satisfies Record<string, ReasonInfo>;
export type MissingReason = keyof typeof missingReasons;

/** Reasons of the condition CloudInterruption. */
export const interruptionReasons = {
  Preemption: { meaning: 'The cloud takes this spot or preemptible VM back.', remedy: '' },
  Termination: { meaning: 'The cloud ends this VM.', remedy: '' },
  Scheduled: {
    meaning:
      'The cloud will end this VM later than in an hour, or at a time that cannot be read; it counts for nothing yet.',
    remedy: '',
  },
  Maintenance: { meaning: 'The cloud will pause, move or restart this VM.', remedy: '' },
  Rebalance: { meaning: 'The cloud sees a higher risk that this VM is taken back.', remedy: '' },
  NoneAnnounced: { meaning: 'The cloud announces no interruption any more.', remedy: '' },
} as const satisfies Record<string, ReasonInfo>;
export type InterruptionReason = keyof typeof interruptionReasons;

/** Event reasons. `Synced`, `DeletingNode` and `DeletingNodeFailed` are upstream's. */
export const eventReasons = {
  Synced: 'The Node was initialised.',
  CloudInitializedChanged: 'Initialisation waits for another reason than before.',
  DeletingNode: 'The instance is gone; the Node is being deleted. The message says by what evidence.',
  DeletingNodeFailed: 'The API server refused the deletion.',
  CloudInterruption: 'The cloud announces or withdraws an interruption of the VM.',
  DeletionWithheld: 'The instance looks gone, but the Node is kept; the message says why.',
  ShutdownTaintAdded: 'The instance is powered off.',
  ShutdownTaintRemoved: 'The instance is powered on again.',
  TopologyDrift: 'The instance reports another zone or region than the labels say.',
} as const;
export type EventReason = keyof typeof eventReasons;
