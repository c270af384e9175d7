import type { AskGuestinfo } from './metadata/guestinfo.ts';
import type { Dmi } from './metadata/source.ts';

/** What the operating system says of the machine. */
export interface Machine {
  /** Where the firmware's facts are read from, for messages. */
  readonly place: string;
  /** The firmware's description; what cannot be read is left out. Never throws. */
  dmi(): Promise<Dmi>;
  /** Changes with each boot; undefined where there is none. Never throws. */
  bootId(): Promise<string | undefined>;
  /** vSphere: asks the hypervisor. */
  readonly guestinfo: AskGuestinfo;
}
