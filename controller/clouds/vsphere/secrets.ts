import { join } from 'node:path';
import { CloudConfigError } from '../cloud.ts';
import type { ConfigFiles } from '../config-files.ts';

const defaultFolder = '/etc/cloud/secrets';

/**
 * Credentials from a Secret that is mounted as files, in both forms of the classic controller: `<vCenter>.username`
 * and `<vCenter>.password`, or `server_x`, `username_x` and `password_x` where a name may have no colon.
 *
 * @param folder undefined = the classic controller's, where there is one
 * @throws CloudConfigError naming the folder or the file, and never what is in it
 */
export async function readSecrets(folder: string | undefined, files: ConfigFiles) {
  const path = folder ?? defaultFolder;
  const texts = await files.readFolder(path);
  if (texts === undefined && folder !== undefined)
    throw new CloudConfigError(`vsphere: secrets-directory: ${JSON.stringify(path)}: no such folder`);
  const text = (name: string) => texts?.get(name)?.replace(/\n$/, '') || undefined;
  const names = [...(texts?.keys() ?? [])];
  const known = /\.(username|password)$|^(server|username|password)_/;
  return {
    /** Undefined when no file is of this vCenter. */
    credentialOf(server: string) {
      const shared = names.find((name) => name.startsWith(`${server}.vc-session-manager`));
      if (shared !== undefined)
        throw new CloudConfigError(`vsphere: ${join(path, shared)}: sessions of a session manager are not supported`);
      const suffix = names.find((name) => name.startsWith('server_') && text(name)?.trim() === server)?.slice(7);
      const [user, password] = suffix
        ? [text(`username_${suffix}`), text(`password_${suffix}`)]
        : [text(`${server}.username`), text(`${server}.password`)];
      return user === undefined && password === undefined ? undefined : { user, password };
    },
    files: names.filter((name) => known.test(name)).map((name) => join(path, name)),
  };
}
