import type { Instance, Notice } from '../../common/instance.ts';
import type { Clock } from '../../common/process/clock.ts';
import type { Log } from '../../common/process/log.ts';
import type { Random } from '../../common/process/random.ts';
import type { Evidence } from '../../common/report.ts';
import type { SeedVolume } from '../seed/seed-volume.ts';
import type { AskGuestinfo } from './guestinfo.ts';

/**
 * The firmware's description of the machine: the trimmed texts of `/sys/class/dmi/id`; absent where not readable (uuid
 * and serial need root).
 */
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

/** One network interface of the kernel. */
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
  /** Replaces scheme, host and port, and may have a path prefix; the source appends its own paths. */
  readonly metadataUrl?: string;
  /** A mounted config drive or seed folder. */
  readonly configDrive?: string;
  /** The region, where the metadata does not contain it. */
  readonly region?: string;
  /**
   * The machine's own interfaces, for facts that the metadata does not contain; without those of pods and the loopback.
   */
  readonly interfaces?: () => readonly LocalInterface[];
  /** Finds the machine's cloud-init volume by its label; undefined without one. @param cloud for errors */
  readonly seedVolume?: (cloud: string) => Promise<SeedVolume | undefined>;
  /** vSphere: reads a guestinfo value of the VM from the hypervisor. */
  readonly guestinfo?: AskGuestinfo;
  /** OpenStack: print `openstack://<region>/<id>`. */
  readonly regionalProviderId?: boolean;
  /** Azure: read scheduled events, which enables them for the VM. */
  readonly scheduledEvents?: boolean;
}

/** Reads one cloud's metadata service, without credentials of the cloud. Opening it makes no request. */
export interface MetadataSource {
  readonly cloud: string;
  /**
   * Reads the instance of this machine. Throws a CloudError (kind `Invalid` names the missing or malformed field). Safe
   * to repeat; each call reads again.
   */
  read(signal: AbortSignal): Promise<Instance>;
  /**
   * Resolves when the cloud reports a change since the last `read`, or after the cloud's own time limit; rejects as
   * `read` does.
   */
  waitForChange?(signal: AbortSignal): Promise<void>;
  /**
   * Interruptions that the cloud has announced for this VM; empty when there are none. Called every few seconds where
   * there is no `waitForChange`, so it makes no request on a VM that cannot be interrupted.
   */
  notices?(signal: AbortSignal): Promise<readonly Notice[]>;
  /** The signed identity, bound to the challenge where the cloud supports that. */
  evidence?(challenge: string, signal: AbortSignal): Promise<Evidence>;
}

/** The metadata source of one cloud: each file exports one. */
export interface SourceKind {
  readonly cloud: string;
  /** Whether the firmware is this cloud's; makes no request. At most one cloud may return true for any machine. */
  detect(dmi: Dmi): boolean;
  open(options: SourceOptions): MetadataSource;
}
