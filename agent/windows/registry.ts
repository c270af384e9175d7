import { execFile } from 'node:child_process';

/** A value of the registry as `reg query` prints it. */
export interface RegistryValue {
  readonly name: string;
  /** `REG_SZ`, `REG_DWORD`, `REG_BINARY` and others. */
  readonly type: string;
  /** Text as it is, a number as `0x…`, bytes in hex. */
  readonly data: string;
}

/**
 * Answers what `reg query` prints for a key and, where one is named, a value of it; undefined where there is none or it
 * may not be read. Never throws.
 */
export type QueryRegistry = (key: string, value?: string) => Promise<string | undefined>;

const timeoutMs = 5000;
/** A firmware's table has at most 64 KiB before SMBIOS 3, and is printed in hex. */
const maxBytes = 1024 * 1024;

/** Asks reg.exe, which every Windows has; a library would have to be native. @param systemRoot such as C:\Windows */
export function registryOf(systemRoot: string): QueryRegistry {
  return (key, value) =>
    new Promise((resolve) => {
      const args = ['query', key, ...(value === undefined ? [] : ['/v', value])];
      const options = { timeout: timeoutMs, maxBuffer: maxBytes, windowsHide: true };
      // The whole path: whatever else is called reg must not answer for the firmware.
      execFile(`${systemRoot}\\System32\\reg.exe`, args, options, (error, stdout) =>
        resolve(error ? undefined : stdout),
      );
    });
}

/** The values that `reg query` printed, by name in lower case; the first of a name counts. Never throws. Pure. */
export function registryValues(printed: string): ReadonlyMap<string, RegistryValue> {
  const values = new Map<string, RegistryValue>();
  for (const line of printed.split(/\r?\n/)) {
    const [, name = '', type = '', data = ''] = /^ {4}(\S(?:.*?\S)?) {4}(REG_[A-Z_]+)(?: {4}(.*))?$/.exec(line) ?? [];
    const key = name.toLowerCase();
    if (name !== '' && !values.has(key)) values.set(key, { name, type, data: data.trim() });
  }
  return values;
}
