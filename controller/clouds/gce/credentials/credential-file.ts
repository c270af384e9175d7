import { createPrivateKey, type KeyObject } from 'node:crypto';
import { CloudError, isCloudError } from '../../../../common/cloud-error.ts';
import { type AnswerFields, answerFields } from '../../answer-fields.ts';
import { CloudConfigError } from '../../cloud.ts';
import { isPlainUrl } from '../../plain-url.ts';
import { cloud } from '../fault.ts';
import { jsonObject } from './token.ts';

/** A key of a service account. */
export interface ServiceAccountKey {
  readonly type: 'service_account';
  readonly email: string;
  readonly key: KeyObject;
  readonly keyId: string | undefined;
  readonly tokenUrl: string;
}

/** What `gcloud auth application-default login` leaves. */
export interface AuthorizedUser {
  readonly type: 'authorized_user';
  readonly clientId: string;
  readonly clientSecret: string;
  readonly refreshToken: string;
  readonly tokenUrl: string;
}

/** Workload identity federation: a token of another issuer is exchanged. */
export interface ExternalAccount {
  readonly type: 'external_account';
  readonly audience: string;
  readonly subjectTokenType: string;
  readonly tokenUrl: string;
  readonly source:
    | { readonly file: string }
    | { readonly url: string; readonly headers: Readonly<Record<string, string>> };
  /** The field of the JSON that has the token. Undefined: the text is the token. */
  readonly tokenField: string | undefined;
  /** The service account that is impersonated. */
  readonly impersonationUrl: string | undefined;
  readonly lifetimeSeconds: number;
  readonly client: { readonly id: string; readonly secret: string } | undefined;
}

export type FileCredential = ServiceAccountKey | AuthorizedUser | ExternalAccount;

/** What a credential file says beside the credential itself. */
export interface CredentialFile {
  readonly credential: FileCredential;
  readonly project: string | undefined;
  /** `googleapis.com` but in sovereign clouds. */
  readonly universe: string;
}

const googleTokenUrl = 'https://oauth2.googleapis.com/token';
const operation = 'read credential';

/**
 * Reads a credential file of Google's auth libraries.
 *
 * @throws CloudConfigError that names the file and the field, never a value
 */
export function parseCredentialFile(path: string, text: string): CredentialFile {
  try {
    const fields = answerFields(jsonObject(text), { cloud, operation, path, secret: true });
    return {
      credential: credentialOf(path, fields),
      project: fields.optionalText('project_id') ?? fields.optionalText('quota_project_id'),
      universe: universeOf(path, fields),
    };
  } catch (error) {
    throw isCloudError(error) ? new CloudConfigError(error.message) : error;
  }
}

function credentialOf(path: string, fields: AnswerFields): FileCredential {
  const type = fields.text('type');
  const tokenUrl = urlOf(path, fields, 'token_uri') ?? googleTokenUrl;
  switch (type) {
    case 'service_account': {
      const keyId = fields.optionalText('private_key_id');
      return { type, tokenUrl, keyId, email: fields.text('client_email'), key: privateKey(path, fields) };
    }
    case 'authorized_user': {
      const [clientId, clientSecret] = [fields.text('client_id'), fields.text('client_secret')];
      return { type, tokenUrl, clientId, clientSecret, refreshToken: fields.text('refresh_token') };
    }
    case 'external_account':
      return externalAccount(path, fields);
    default:
      throw wrong(path, 'type', 'service_account, external_account or authorized_user');
  }
}

function privateKey(path: string, fields: AnswerFields): KeyObject {
  const pem = fields.text('private_key');
  try {
    const key = createPrivateKey(pem);
    if (key.asymmetricKeyType === 'rsa') return key;
  } catch {
    // The reason may quote the key.
  }
  throw wrong(path, 'private_key', 'an RSA private key in PEM');
}

function externalAccount(path: string, fields: AnswerFields): ExternalAccount {
  const source = fields.object('credential_source');
  const format = source.optionalObject('format');
  const [file, url] = [source.optionalText('file'), urlOf(path, source, 'url')];
  // That of AWS has a URL, too, which answers no token.
  const isAws = source.optionalText('environment_id') !== undefined;
  if (isAws || (file === undefined) === (url === undefined))
    throw wrong(path, 'credential_source', 'either a file or a url, and not that of AWS');
  const tokenUrl = urlOf(path, fields, 'token_url');
  if (tokenUrl === undefined) throw wrong(path, 'token_url', 'a URL');
  const id = fields.optionalText('client_id');
  return {
    type: 'external_account',
    audience: fields.text('audience'),
    tokenUrl,
    subjectTokenType: fields.text('subject_token_type'),
    source: url === undefined ? { file: file! } : { url, headers: source.labels('headers') },
    tokenField: format?.optionalText('type') === 'json' ? format.text('subject_token_field_name') : undefined,
    impersonationUrl: urlOf(path, fields, 'service_account_impersonation_url'),
    lifetimeSeconds:
      fields.optionalObject('service_account_impersonation')?.optionalNumber('token_lifetime_seconds') ?? 3600,
    client: id === undefined ? undefined : { id, secret: fields.optionalText('client_secret') ?? '' },
  };
}

/** It becomes the end of host names. */
function universeOf(path: string, fields: AnswerFields): string {
  const found = fields.optionalText('universe_domain') ?? 'googleapis.com';
  if (/^[a-z0-9-]+(\.[a-z0-9-]+)+$/.test(found)) return found;
  throw wrong(path, 'universe_domain', 'a domain such as googleapis.com');
}

function urlOf(path: string, fields: AnswerFields, name: string): string | undefined {
  const found = fields.optionalText(name);
  // The URL of a subject token may have a query.
  if (found === undefined || isPlainUrl(found.split('?', 1)[0]!)) return found;
  throw wrong(path, name, 'an http or https URL without user');
}

function wrong(path: string, name: string, expected: string): CloudError {
  const message = `${path}.${name}: a wrong value (not shown), expected ${expected}`;
  return new CloudError({ kind: 'Invalid', cloud, operation, message });
}
