import { join } from 'node:path';
import { version } from '../../../common/version.ts';

/** The archive of an image that was built before the suites, in the folder `RELEASE`. */
export function builtImage(name: string): string {
  return join(process.env['RELEASE'] ?? '', `${name}-${version}.oci.tar`);
}
