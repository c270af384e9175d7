/**
 * The closed sets of reason codes that conditions, events, metrics and `explain` use. The reference page is generated
 * from here.
 */
export interface ReasonInfo {
  readonly meaning: string;
  /** What an operator may do about it; empty when nothing need be done. */
  readonly remedy: string;
}

/** Reasons of the condition CloudInitialized. */
export const initializedReasons = {
  Initialized: { meaning: 'The Node is up to date with its cloud and open for pods.', remedy: '' },
  TopologyDrift: {
    meaning:
      'The instance has another zone or region now than the labels of the Node. ' +
      'The labels stay, since volumes and scheduling depend on them.',
    remedy: 'Drain the Node and let it register again, or accept the old labels.',
  },
  AwaitingReport: {
    meaning:
      'The agent on this Node has not reported yet, and nothing else identifies its instance: the cloud has no API ' +
      'here, has not named its account yet, or only finds an instance with the name of the Node.',
    remedy:
      'Check the agent pod on the Node: its log and /readyz show what is missing. Or give the kubelet --provider-id.',
  },
  AwaitingCloud: {
    meaning: "The cloud's API failed; the message has the error. The lookup is repeated with back-off.",
    remedy: "Check the cloud's status and the credential, and run `mooring-controller check`.",
  },
  InstanceNotFound: {
    meaning: 'No configured cloud has an instance for this Node.',
    remedy:
      'Compare the Node name with the instance name, give the kubelet --provider-id, or run the agent on the Node.',
  },
  AmbiguousInstance: {
    meaning: 'More than one instance, or more than one configured cloud, claims this Node.',
    remedy: 'Give the kubelet --provider-id, run the agent on the Node, or set --node-selector.',
  },
  IdentityConflict: {
    meaning:
      'The facts about this Node contradict each other: its providerID, incarnation, SMBIOS UUID, address or the ' +
      'signed document of its VM, or another live Node holds its instance or a reported address. The Node is not ' +
      'written and keeps its taint.',
    remedy:
      'Read the message. Usually the Node has to be deleted and its kubelet restarted, so that it registers again.',
  },
  AttestationRequired: {
    meaning:
      '--require-attestation applies to this cloud, and no signed document of the VM proves yet that the Node runs ' +
      'on the instance it names. The Node is not initialised, gets nothing of that instance where it registered ' +
      'without the taint, joins no load balancer, and is not kept up to date where it was initialised before.',
    remedy:
      "Check the message and the agent on the Node (`mooring_agent_evidence_total`, its log). The cloud's page lists " +
      'what the VM needs.',
  },
  WriteRefused: {
    meaning: 'The API server refuses to write the Node; the message has its answer.',
    remedy: "Check the controller's RBAC and the admission webhooks for Nodes.",
  },
  InvalidNodeIP: {
    meaning: 'The annotation alpha.kubernetes.io/provided-node-ip does not parse.',
    remedy: "Correct the kubelet's --node-ip: one address, or two of different families separated by a comma.",
  },
} as const satisfies Record<string, ReasonInfo>;
export type InitializedReason = keyof typeof initializedReasons;

/**
 * Reasons of the condition CloudInstanceMissing: True while the cloud says that a Node's instance is gone or absent, or
 * does not say whether that of a Node that is not Ready exists.
 */
export const missingReasons = {
  Found: { meaning: 'The instance was found again, or the Node was Ready before the cloud answered.', remedy: '' },
  Confirming: {
    meaning: 'The cloud does not find the instance. The answer is being confirmed before the Node is deleted.',
    remedy: '',
  },
  SignOfLife: {
    meaning:
      'The cloud does not find the instance, but the Node renews its lease, its agent reports, or it is Ready. ' +
      'A live Node is never deleted.',
    remedy:
      "The Node is alive: check the controller's credential and scope. If a new VM has taken the Node's name, delete " +
      'the Node and restart its kubelet, so that it registers again.',
  },
  InstanceReplaced: {
    meaning:
      'The instance of the Node is gone, but the Node is alive and its agent reports another instance: a new VM has ' +
      'taken its name. A providerID cannot be changed.',
    remedy: 'Delete the Node and restart its kubelet, so that it registers again.',
  },
  CanaryNotFound: {
    meaning:
      'No other instance of the scope was found either: no other recorded one in the same pass or, where there is no ' +
      'other, none since the credential was loaded. The absence of every instance proves nothing.',
    remedy:
      'The credential is probably of another project or has no rights: run `mooring-controller check`. If the VMs ' +
      'are really gone, annotate each Node with mooring.dev/release-deletion=<its uid>.',
  },
  NeverFound: {
    meaning: 'The Node has no record that its instance was ever found in this scope, so its absence proves nothing.',
    remedy: 'Delete the Node by hand if its machine is really gone.',
  },
  TooYoung: {
    meaning:
      'The Node is younger than five minutes: clouds show new instances late, and a Node that was never initialised ' +
      'may register again at once.',
    remedy: '',
  },
  BudgetExhausted: {
    meaning:
      'Too many Nodes lost their instances recently, unexpectedly or as announced. The deletion waits until the ' +
      'budget has room again.',
    remedy:
      'Find out why they disappear. To delete one now, annotate the Node with mooring.dev/release-deletion=<its uid>.',
  },
  DeletionPaused: {
    meaning:
      'The evidence is complete that the instance is gone, but the key paused-nodes of the ConfigMap mooring-ca ' +
      'protects the Node.',
    remedy: 'Remove the name of the Node from paused-nodes to have it deleted.',
  },
  ProofPostponed: {
    meaning:
      'A list of the instances of the scope leaves this one out. Many are missing at once, so the request by id that ' +
      'proves it waits for a later pass.',
    remedy: '',
  },
  CloudUnknown: {
    meaning:
      "The cloud's API gives no usable answer about the instance of a Node that is not Ready or looks missing. " +
      'An unknown answer never counts as absent.',
    remedy: "Check the cloud's status and the credential, and run `mooring-controller check`.",
  },
  LifeUnknown: {
    meaning: 'The API server did not answer when the Node and its lease were read again before the deletion.',
    remedy: '',
  },
} as const satisfies Record<string, ReasonInfo>;
export type MissingReason = keyof typeof missingReasons;

/** Reasons of the condition CloudInterruption. */
export const interruptionReasons = {
  Preemption: { meaning: 'The cloud takes this spot or preemptible VM back.', remedy: '' },
  Termination: { meaning: 'The cloud ends this VM.', remedy: '' },
  Scheduled: {
    meaning:
      'The cloud will end this VM in more than an hour, or at a time that cannot be parsed. It has no effect yet.',
    remedy: '',
  },
  Maintenance: { meaning: 'The cloud will pause, move or restart this VM.', remedy: '' },
  PlannedMaintenance: {
    meaning: "The cloud's API announces maintenance of this VM. The agent has not reported any interruption.",
    remedy: '',
  },
  Rebalance: { meaning: 'The cloud sees a higher risk that this VM is taken back.', remedy: '' },
  NoneAnnounced: { meaning: 'The cloud announces no interruption any more.', remedy: '' },
} as const satisfies Record<string, ReasonInfo>;
export type InterruptionReason = keyof typeof interruptionReasons;

/** Event reasons. `Synced`, `DeletingNode` and `DeletingNodeFailed` are upstream's. */
export const eventReasons = {
  Synced: 'The Node was initialised.',
  CloudInitializedChanged: 'The reason why the initialisation waits has changed.',
  DeletingNode: 'The instance is gone; the Node is being deleted. The message has the evidence.',
  DeletingNodeFailed: 'The API server refused the deletion.',
  CloudInterruption: 'The cloud announces or withdraws an interruption of the VM.',
  DeletionWithheld: 'The instance is missing, but the Node is kept; the message has the reason.',
  ShutdownTaintAdded: 'The instance is powered off.',
  ShutdownTaintRemoved: 'The instance is powered on again.',
  TopologyDrift: 'The instance has another zone or region than the labels.',
} as const;
