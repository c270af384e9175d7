import type { CloudConfigError } from '../cloud.ts';

/** Settings of one cloud as cloud.conf and clouds.yaml spell them, by the names of clouds.yaml; not validated yet. */
export type RawSettings = Readonly<Partial<Record<SettingName, string>>>;

export const settingNames = [
  'auth_url',
  'user_id',
  'username',
  'password',
  'token',
  'project_id',
  'project_name',
  'project_domain_id',
  'project_domain_name',
  'user_domain_id',
  'user_domain_name',
  'domain_id',
  'domain_name',
  'application_credential_id',
  'application_credential_name',
  'application_credential_secret',
  'trust_id',
  'trustee_id',
  'trustee_password',
  'region_name',
  'interface',
  'cacert',
  'cert',
  'key',
  'insecure',
] as const;
export type SettingName = (typeof settingNames)[number];

export type DomainRef = { readonly id: string } | { readonly name: string };
export type UserRef = { readonly id: string } | { readonly name: string; readonly domain: DomainRef };
export type ProjectRef = { readonly id: string } | { readonly name: string; readonly domain: DomainRef };
export type TokenScope = { readonly project: ProjectRef } | { readonly 'OS-TRUST:trust': { readonly id: string } };

interface Destined {
  /** The project that an application credential or a trust has to lead to; not sent, since they carry it themselves. */
  readonly destination?: ProjectRef;
}

/** What Keystone is shown. An application credential carries its scope itself. */
export type Credential =
  | ({
      readonly method: 'password';
      readonly user: UserRef;
      readonly password: string;
      readonly scope: TokenScope;
    } & Destined)
  | ({
      readonly method: 'application_credential';
      readonly credential: { readonly id: string } | { readonly name: string; readonly user: UserRef };
      readonly secret: string;
    } & Destined)
  | { readonly method: 'token'; readonly token: string; readonly scope: TokenScope };

/**
 * The credential the settings describe; the first of trust, application credential, token, password for which they have
 * the secret.
 *
 * @throws CloudConfigError naming the setting that is missing
 */
export function credentialOf(settings: RawSettings, { name: called, missing }: Wording): Credential {
  const oneOf = (...names: readonly SettingName[]) => {
    const words = names.map(called);
    return words.length === 1 ? words[0]! : `${words.slice(0, -1).join(', ')} or ${words.at(-1)}`;
  };
  const destination = knownProject(settings);
  const destined = destination === undefined ? {} : { destination };
  if (settings.trust_id !== undefined) {
    const password = settings.trustee_password ?? settings.password;
    if (password === undefined) throw missing(`${called('trust_id')} needs ${oneOf('trustee_password', 'password')}`);
    const id = settings.trustee_id ?? settings.user_id;
    const user = id === undefined ? userOf() : { id };
    const scope = { 'OS-TRUST:trust': { id: settings.trust_id } };
    return { method: 'password', user, password, scope, ...destined };
  }
  const secret = settings.application_credential_secret;
  if (secret !== undefined) {
    const { application_credential_id: id, application_credential_name: name } = settings;
    const rest = { secret, ...destined };
    if (id !== undefined) return { method: 'application_credential', credential: { id }, ...rest };
    if (name === undefined) {
      const ids = oneOf('application_credential_id', 'application_credential_name');
      throw missing(`${called('application_credential_secret')} needs ${ids}`);
    }
    return { method: 'application_credential', credential: { name, user: userOf() }, ...rest };
  }
  if (settings.application_credential_id !== undefined || settings.application_credential_name !== undefined) {
    throw missing(`${called('application_credential_secret')} is missing`);
  }
  if (settings.token !== undefined) return { method: 'token', token: settings.token, scope: projectOf() };
  if (settings.password === undefined)
    throw missing(`${oneOf('password', 'application_credential_secret', 'token')} is missing`);
  return { method: 'password', user: userOf(), password: settings.password, scope: projectOf() };

  function userOf(): UserRef {
    if (settings.user_id !== undefined) return { id: settings.user_id };
    if (settings.username === undefined) throw missing(`${oneOf('username', 'user_id')} is missing`);
    const domain = domainOf(settings.user_domain_id, settings.user_domain_name, settings);
    if (domain !== undefined) return { name: settings.username, domain };
    const domains = oneOf('user_domain_name', 'user_domain_id', 'domain_name', 'domain_id');
    throw missing(`${called('username')} needs ${domains}`);
  }

  function projectOf(): TokenScope {
    const project = knownProject(settings);
    if (project !== undefined) return { project };
    if (settings.project_name === undefined) throw missing(`${oneOf('project_id', 'project_name')} is missing`);
    const domains = oneOf('project_domain_name', 'project_domain_id', 'domain_name', 'domain_id');
    throw missing(`${called('project_name')} needs ${domains}`);
  }
}

function knownProject(settings: RawSettings): ProjectRef | undefined {
  const { project_id: id, project_name: name } = settings;
  if (id !== undefined) return { id };
  const domain = domainOf(settings.project_domain_id, settings.project_domain_name, settings);
  return name === undefined || domain === undefined ? undefined : { name, domain };
}

function domainOf(id: string | undefined, name: string | undefined, settings: RawSettings): DomainRef | undefined {
  if (id !== undefined) return { id };
  if (name !== undefined) return { name };
  if (settings.domain_id !== undefined) return { id: settings.domain_id };
  return settings.domain_name === undefined ? undefined : { name: settings.domain_name };
}

/** The body of `POST /v3/auth/tokens`. */
export function authRequest(credential: Credential): unknown {
  if (credential.method === 'password') {
    const user = { ...credential.user, password: credential.password };
    return { auth: { identity: { methods: ['password'], password: { user } }, scope: credential.scope } };
  }
  if (credential.method === 'token') {
    return { auth: { identity: { methods: ['token'], token: { id: credential.token } }, scope: credential.scope } };
  }
  const application = { ...credential.credential, secret: credential.secret };
  return { auth: { identity: { methods: ['application_credential'], application_credential: application } } };
}

/** What the credential reaches, in words that hold no secret, no space and no slash; for the scope of the cloud. */
export function reachOf(credential: Credential): string {
  const escaped = (parts: readonly string[]) => parts.map(encodeURIComponent).join(':');
  const domainWord = (domain: DomainRef) => ('id' in domain ? domain.id : domain.name);
  const projectWords = (project: ProjectRef) =>
    'id' in project ? [project.id] : [domainWord(project.domain), project.name];
  if ('destination' in credential && credential.destination !== undefined)
    return escaped(projectWords(credential.destination));
  if (credential.method === 'application_credential') {
    const application = credential.credential;
    if ('id' in application) return escaped(['application-credential', application.id]);
    const { name, user } = application;
    return escaped([
      'application-credential',
      ...('id' in user ? [user.id] : [domainWord(user.domain), user.name]),
      name,
    ]);
  }
  const { scope } = credential;
  if ('OS-TRUST:trust' in scope) return escaped(['trust', scope['OS-TRUST:trust'].id]);
  return escaped(projectWords(scope.project));
}

/** How errors and warnings call settings: as the file spells them that a person has to open. */
export interface Wording {
  /** The setting's name where one that is missing would be added. */
  name(setting: SettingName): string;
  /** Something is missing or does not go together: `problem` names the settings. */
  missing(problem: string): CloudConfigError;
  /** A setting's value is not as expected: names where it stands. */
  wrong(setting: SettingName, problem: string): CloudConfigError;
}
