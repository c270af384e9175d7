import { readFile } from 'node:fs/promises';
import { systemClock } from '../../../common/process/clock.ts';
import { type OpenStackConfig, readConfig } from '../../../controller/clouds/openstack/config.ts';
import { authRequest } from '../../../controller/clouds/openstack/credential.ts';
import { endpointOf, readSession, type ServiceType } from '../../../controller/clouds/openstack/session.ts';

export type Json = Record<string, unknown>;
export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/**
 * A person at the console of the cloud that the environment names. Of the code under test it uses the configuration
 * alone.
 */
export interface Connection {
  readonly config: OpenStackConfig;
  readonly projectId: string;
  readonly userId: string;
  readonly token: string;
  /**
   * From the service's base URL, with a slash first. Undefined = 404; `{}` for an empty answer. Throws for every other
   * failure.
   */
  call(
    service: ServiceType | 'image' | 'identity',
    method: Method,
    path: string,
    body?: unknown,
  ): Promise<Json | undefined>;
  /** One page of a collection. */
  list(service: ServiceType | 'image' | 'identity', path: string, collection: string): Promise<Json[]>;
}

/** @param env `OS_CLOUD`, `OS_CLIENT_CONFIG_FILE` */
export async function connectTo(env: NodeJS.ProcessEnv): Promise<Connection> {
  const found = await readConfig(undefined, env, readText);
  if ('reportOnly' in found) throw new Error(found.reportOnly);
  const config: OpenStackConfig = found;
  const answer = await fetch(`${config.authUrl}/auth/tokens`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(authRequest(config.credential)),
  });
  if (!answer.ok) throw new Error(`Keystone: ${answer.status}`);
  const token = answer.headers.get('x-subject-token');
  const document = (await answer.json()) as { token: { user: { id: string } } };
  const session = readSession(token, document, systemClock(), 'POST /auth/tokens');
  const image = session.endpoints.find((one) => one.service === 'image' && one.interface === config.interface);

  async function call(service: ServiceType | 'image' | 'identity', method: Method, path: string, body?: unknown) {
    const base =
      service === 'identity'
        ? config.authUrl
        : service === 'image'
          ? `${image?.url.replace(/\/(v2\/?)?$/, '')}/v2`
          : endpointOf(session, service, config);
    const response = await fetch(base + path, {
      method,
      headers: { 'x-auth-token': session.token, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    if (response.status === 404) return undefined;
    if (!response.ok) throw new Error(`${method} ${base}${path}: ${response.status} ${text.slice(0, 300)}`);
    return text === '' ? {} : (JSON.parse(text) as Json);
  }
  return {
    config,
    projectId: session.projectId ?? '',
    userId: document.token.user.id,
    token: session.token,
    call,
    list: async (service, path, collection) => ((await call(service, 'GET', path))?.[collection] ?? []) as Json[],
  };
}

export const readText = (path: string) => readFile(path, 'utf8').catch(() => undefined);
