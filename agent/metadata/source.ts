import type { Instance, Notice } from '../../common/instance.ts';
import type { Clock } from '../../common/process/clock.ts';
import type { Log } from '../../common/process/log.ts';
import type { Random } from '../../common/process/random.ts';
import type { Evidence } from '../../common/report.ts';
import type { AskGuestinfo } from './guestinfo.ts';

/** What the machine's firmware says of itself: the texts of `/sys/class/dmi/id`, trimmed; absent where not readable (uuid and serial need root). */
export interface Dmi {
  readonly sysVendor?: string;
  readonly productName?: string;
  readonly productVersion?: string;
  readonly productSerial?: string;
  /** Lower case. */
  readonly productUuid?: string;
  readonly biosVendor?: string;
  readonly biosVersion?: string;
  readonly boardAssetTag?: string;
  readonly chassisAssetTag?: string;
  /** `/sys/hypervisor/uuid`, for old Xen guests. */
  readonly hypervisorUuid?: string;
}

/** One network interface as the kernel knows it. */
export interface LocalInterface {
  readonly name: string;
  /** Lower case, with colons. */
  readonly mac: string;
  /** Without zone or prefix length, in the kernel's order. */
  readonly addresses: readonly string[];
}

export interface SourceOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly dmi: Dmi;
  /** Replaces scheme, host and port (and may carry a path prefix); the source appends its own paths. */
  readonly metadataUrl?: string;
  /** A mounted config drive or seed folder. */
  readonly configDrive?: string;
  /** Where the metadata lacks it. */
  readonly region?: string;
  /** The machine's own interfaces, for what a metadata service leaves to the kernel; those of pods and the loopback are left out. */
  readonly interfaces?: () => readonly LocalInterface[];
  /** vSphere: asks the hypervisor for a value that was given to the VM. */
  readonly guestinfo?: AskGuestinfo;
  /** OpenStack: print `openstack://<region>/<id>`. */
  readonly regionalProviderId?: boolean;
  /** Azure: ask for scheduled events, which switches them on for the VM. */
  readonly scheduledEvents?: boolean;
}

/** Reads one cloud's metadata service. Has no credentials of the cloud. Nothing is read when it is opened. */
export interface MetadataSource {
  readonly cloud: string;
  /**
   * The instance this machine is. Throws a CloudError (kind `Invalid` names the missing or malformed field). Safe to repeat; each call reads afresh.
   */
  read(signal: AbortSignal): Promise<Instance>;
  /** Resolves when the cloud says that something changed since the last `read`, or after the cloud's own limit; rejects as `read` does. */
  waitForChange?(signal: AbortSignal): Promise<void>;
  /**
   * Interruptions the cloud has announced for this VM; empty when none. Asked every few seconds where there is no `waitForChange`, so it costs nothing on a VM that cannot be interrupted.
   */
  notices?(signal: AbortSignal): Promise<readonly Notice[]>;
  /** Signed identity bound to the challenge where the cloud can. */
  evidence?(challenge: string, signal: AbortSignal): Promise<Evidence>;
}

/** One cloud on the node side: one file exports one of these. */
export interface SourceKind {
  readonly cloud: string;
  /** Whether the firmware is this cloud's, offline. At most one cloud may say yes to any machine. */
  detect(dmi: Dmi): boolean;
  open(options: SourceOptions): MetadataSource;
}
