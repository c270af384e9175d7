import { join, resolve } from 'node:path';
import { EC2Client, type EC2ClientConfig } from '@aws-sdk/client-ec2';
import type { Clock } from '../../../common/process/clock.ts';
import { clientDefaults } from './service-calls.ts';

type Env = Readonly<Record<string, string | undefined>>;
export type CredentialProvider = Exclude<NonNullable<EC2ClientConfig['credentials']>, { accessKeyId: string }>;

/** Variables each of which says that the process is meant to have a credential. */
const explicitSources = [
  'AWS_PROFILE',
  'AWS_WEB_IDENTITY_TOKEN_FILE',
  'AWS_CONTAINER_CREDENTIALS_FULL_URI',
  'AWS_CONTAINER_CREDENTIALS_RELATIVE_URI',
  'AWS_SHARED_CREDENTIALS_FILE',
] as const;

/**
 * The standard chain: access key in the environment, then (by the SDK, which reads the process's environment and the
 * shared files) SSO and profiles, credential_process, web identity, container, instance role. Waits at most `timeoutMs`
 * for the first credential, since outside AWS the address of the instance role never answers. `none` only if no source
 * is configured; a configured one that fails may recover, so it counts as found. `from` is for people, and free of
 * secrets; when one of `files` changes, all is read again.
 */
export async function findCredentials(env: Env, region: string, clock: Clock, timeoutMs: number) {
  const accessKeyId = env['AWS_ACCESS_KEY_ID'];
  const secretAccessKey = env['AWS_SECRET_ACCESS_KEY'];
  const sessionToken = env['AWS_SESSION_TOKEN'];
  if (accessKeyId && secretAccessKey && !env['AWS_PROFILE']) {
    const credential = { accessKeyId, secretAccessKey, ...(sessionToken ? { sessionToken } : {}) };
    const provider: CredentialProvider = async () => credential;
    return { state: 'found', provider, from: 'the environment', files: [], problem: undefined } as const;
  }
  // The client's types lack it, but it reaches the SDK, which else caches files for as long as the process lives.
  const { requestHandler } = clientDefaults(env);
  const chain = new EC2Client({ region, ignoreCache: true, requestHandler } as EC2ClientConfig);
  const provider: CredentialProvider = () => chain.config.credentials();
  const explicit = explicitSources.find((name) => env[name]);
  const files = sharedFiles(env);
  const from = explicit === undefined ? 'the standard chain (shared files or instance role)' : shown(explicit, env);
  try {
    await within(provider(), clock, timeoutMs);
    return { state: 'found', provider, from, files, problem: undefined } as const;
  } catch (error) {
    const problem = (error instanceof Error ? error.message : String(error)).split('\n', 1)[0]!;
    // It is configured but gave nothing yet: calls fail until it does.
    if (explicit !== undefined) return { state: 'found', provider, from, files, problem } as const;
    const tried = [
      'AWS_ACCESS_KEY_ID',
      ...explicitSources,
      'shared config and credentials files',
      'instance role',
    ].join(', ');
    return { state: 'none', tried: `${tried} (${problem})` } as const;
  }
}

function shown(variable: (typeof explicitSources)[number], env: Env): string {
  const tells = variable === 'AWS_PROFILE' || variable === 'AWS_SHARED_CREDENTIALS_FILE';
  return tells ? `${variable}=${env[variable]}` : variable;
}

/** The web identity token is none of them: the SDK reads it whenever it needs one. */
function sharedFiles(env: Env): readonly string[] {
  const file = (variable: string, name: string) => {
    const home = env['HOME'];
    const set = env[variable];
    if (set) return resolve(set);
    return home ? join(home, '.aws', name) : undefined;
  };
  return [file('AWS_SHARED_CREDENTIALS_FILE', 'credentials'), file('AWS_CONFIG_FILE', 'config')].flatMap(
    (path) => path ?? [],
  );
}

/**
 * A region from the shared config file or, on EC2, from the instance itself; undefined elsewhere or after `timeoutMs`.
 */
export async function regionOfSurroundings(clock: Clock, timeoutMs: number): Promise<string | undefined> {
  const client = new EC2Client({});
  try {
    return await within(client.config.region(), clock, timeoutMs);
  } catch {
    return undefined;
  } finally {
    client.destroy();
  }
}

async function within<Value>(promise: Promise<Value>, clock: Clock, timeoutMs: number): Promise<Value> {
  const late = Promise.withResolvers<never>();
  const timer = clock.setTimer(timeoutMs, () => late.reject(new Error(`nothing within ${timeoutMs} ms`)));
  try {
    return await Promise.race([promise, late.promise]);
  } finally {
    timer.cancel();
  }
}
