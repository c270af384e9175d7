import type { Instance, Notice } from './instance.ts';

/**
 * The wire contract between agent and controller: `POST /v1/report`, JSON, at most `maxReportBytes`, with the agent's
 * projected token as bearer. Sending a report again is safe. The sender's Node comes from the review of the token,
 * never from the body.
 */
export const reportPath = '/v1/report';
export const reportVersion = 1;
export const maxReportBytes = 32 * 1024;

/**
 * The instance as the sender's metadata service describes it. The machine's SMBIOS UUID and notices are separate
 * fields; pod ranges and tags are the API's word alone.
 */
export type ReportedInstance = Omit<Instance, 'smbiosUuid' | 'podRanges' | 'maintenance' | 'tags'>;

/** All labels that the agent's sources set. Where no API of the cloud is configured, no others are written. */
export const reportedLabels: ReadonlySet<string> = new Set([
  'topology.k8s.aws/zone-id',
  'topology.kubernetes.azure.com/sub-fault-domain',
  'topology.kubernetes.azure.com/interconnect-group',
]);

/** The state of the metadata service, and the age of `instance` after failures. */
export interface MetadataHealth {
  readonly ok: boolean;
  /** Seconds since `instance` was last read, before that since the agent's start; 0 when the last read succeeded. */
  readonly ageSeconds: number;
  /** Consecutive failed reads. */
  readonly failures: number;
  /** The last failure, free of credentials; while `ok`, why no evidence could be read. */
  readonly error?: string;
}

/** Signed identity of the VM, in the cloud's own format. */
export interface Evidence {
  readonly cloud: string;
  readonly kind: string;
  readonly document: string;
}

export interface Report {
  readonly version: typeof reportVersion;
  readonly agentVersion: string;
  /** Random per agent process: `sequence` counts within it. */
  readonly agentId: string;
  readonly sequence: number;
  /** ISO 8601, by the sender's clock; for people, never for decisions. */
  readonly observedAt: string;
  /** Kernel boot id of the sender's machine. */
  readonly bootId?: string;
  /** SMBIOS UUID, lower case; readable by root only. */
  readonly smbiosUuid?: string;
  /** Absent until the metadata service has been read once. */
  readonly instance?: ReportedInstance;
  readonly metadata: MetadataHealth;
  readonly notices?: readonly Notice[];
  readonly evidence?: Evidence;
  /** The agent is stopping. Triggers a lookup of the instance; proves nothing. */
  readonly leaving?: boolean;
}

export interface ReportReason {
  /** One of the documented reason codes. */
  readonly code: string;
  readonly message: string;
}

export interface ReportAnswer {
  readonly accepted: boolean;
  /** Whether the Node has no uninitialized taint any more. */
  readonly initialized: boolean;
  /** Why the Node is not initialised. */
  readonly reasons: readonly ReportReason[];
  /** The requested time until the next report; grows with the number of Nodes. */
  readonly nextReportSeconds: number;
  /** A challenge of 32 letters and digits: the agent sends evidence that answers it in an extra report, at once. */
  readonly challenge?: string;
}
