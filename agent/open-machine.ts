import { linuxMachine } from './dmi.ts';
import type { Machine } from './machine.ts';
import { registryOf } from './windows/registry.ts';
import { windowsMachine } from './windows/windows-machine.ts';

export interface OpenMachineOptions {
  readonly platform: NodeJS.Platform;
  /** Of Windows, such as C:\Windows. */
  readonly windowsFolder: string | undefined;
  /** Of Linux: the folder that holds sys and proc. */
  readonly systemRoot: string;
}

/** The machine of this platform: Windows, or Linux for any other. Opening it reads nothing. */
export function openMachine({ platform, windowsFolder, systemRoot }: OpenMachineOptions): Machine {
  if (platform !== 'win32') return linuxMachine(systemRoot);
  return windowsMachine(registryOf(windowsFolder ?? 'C:\\Windows'));
}
