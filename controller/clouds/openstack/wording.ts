import { CloudConfigError } from '../cloud.ts';
import type { GcfgReader } from '../gcfg.ts';
import type { RawSettings, SettingName, Wording } from './credential.ts';

/** Keys of [Global] and what clouds.yaml calls them. */
export const globalKeys: ReadonlyMap<string, SettingName> = new Map<string, SettingName>([
  ['auth-url', 'auth_url'],
  ['username', 'username'],
  ['user-id', 'user_id'],
  ['password', 'password'],
  ['tenant-id', 'project_id'],
  ['tenant-name', 'project_name'],
  ['tenant-domain-id', 'project_domain_id'],
  ['tenant-domain-name', 'project_domain_name'],
  ['user-domain-id', 'user_domain_id'],
  ['user-domain-name', 'user_domain_name'],
  ['domain-id', 'domain_id'],
  ['domain-name', 'domain_name'],
  ['application-credential-id', 'application_credential_id'],
  ['application-credential-name', 'application_credential_name'],
  ['application-credential-secret', 'application_credential_secret'],
  ['trust-id', 'trust_id'],
  ['trustee-id', 'trustee_id'],
  ['trustee-password', 'trustee_password'],
  ['token', 'token'],
  ['region', 'region_name'],
  ['os-endpoint-type', 'interface'],
  ['ca-file', 'cacert'],
  ['cert-file', 'cert'],
  ['key-file', 'key'],
]);

const keyOf: ReadonlyMap<SettingName, string> = new Map([...globalKeys].map(([key, name]) => [name, key]));

export interface WordingParts {
  readonly path: string;
  readonly global: GcfgReader;
  /** What [Global] sets itself. */
  readonly fromGlobal: RawSettings;
  /** Undefined: there is the cloud.conf alone. */
  readonly clouds: { readonly path: string; readonly name: string } | undefined;
  /** Unknown keys of the file. */
  readonly unknown: readonly string[];
}

export function wordingOf({ path, global, fromGlobal, clouds, unknown }: WordingParts): Wording {
  const where =
    clouds === undefined ? `openstack: ${path}: [Global]` : `openstack: ${clouds.path}, cloud ${clouds.name}`;
  // What is missing may be there under another name.
  const misspelt = unknown.length > 0 ? ` (unknown there: ${unknown.join(', ')})` : '';
  return {
    name: (setting) => (clouds === undefined ? (keyOf.get(setting) ?? setting) : setting),
    missing: (problem) => new CloudConfigError(`${where}: ${problem}${misspelt}`),
    wrong(setting, problem) {
      const key = keyOf.get(setting);
      if (key !== undefined && (clouds === undefined || fromGlobal[setting] !== undefined)) {
        return new CloudConfigError(`openstack: ${global.error(key, problem).message}`);
      }
      return new CloudConfigError(`${where}: ${setting}: ${problem}`);
    },
  };
}
