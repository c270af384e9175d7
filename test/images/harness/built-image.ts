import { join } from 'node:path';
import { version } from '../../../common/version.ts';

/** The archive of an image that was built before the suites, in the folder `IMAGES`. */
export function builtImage(name: string): string {
  return join(process.env['IMAGES'] ?? '', `${name}-${version}.oci.tar`);
}
