import { CloudError } from '../../../common/cloud-error.ts';
import type { Clock } from '../../../common/process/clock.ts';
import type { HttpAnswer, HttpRequest } from '../../../common/process/http.ts';
import { unlessAborted } from '../../../common/process/until.ts';
import { authRequest, type Credential } from './credential.ts';
import { errorOf, faultOf, jsonOf } from './fault.ts';
import { readSession, type Session } from './session.ts';

/** Keystone may lock an account after a few refusals. */
const refusalHoldsMs = 10_000;
const renewalRetryMs = 10_000;

/** The token of one credential: asked for once, however many requests wait for it, and renewed before its end. */
export interface Tokens {
  session(): Promise<Session>;
  /** The same; the wait ends with the request's signal. */
  sessionFor(request: Waiting): Promise<Session>;
  /** After a service has refused this token. */
  drop(token: string): void;
  /** Id of the project that the tokens are of. From then on a token of another project is refused. */
  project(signal?: AbortSignal): Promise<string>;
}

export interface TokensOptions {
  readonly clock: Clock;
  readonly credential: Credential;
  /** Ends in `/v3`. */
  readonly authUrl: string;
}

/** A request that waits for a token. */
interface Waiting {
  readonly operation: string;
  readonly signal?: AbortSignal | undefined;
}

export function createTokens(
  { clock, credential, authUrl }: TokensOptions,
  exchange: (
    call: { readonly service: 'identity'; readonly operation: string; readonly urgency: 'change' },
    request: Omit<HttpRequest, 'timeoutMs' | 'signal'>,
  ) => Promise<HttpAnswer>,
): Tokens {
  let current: Session | undefined;
  let asking: Promise<Session> | undefined;
  let refused: { readonly until: number; readonly error: CloudError } | undefined;
  let project: string | undefined;

  async function authenticate(): Promise<Session> {
    const operation = 'POST /auth/tokens';
    if (refused !== undefined && clock.monotonic() < refused.until) throw refused.error;
    const answer = await exchange(
      { service: 'identity', operation, urgency: 'change' },
      {
        method: 'POST',
        url: `${authUrl}/auth/tokens`,
        headers: { 'content-type': 'application/json', accept: 'application/json' },
        body: JSON.stringify(authRequest(credential)),
      },
    );
    if (answer.status >= 300) {
      const error = errorOf(operation, answer, clock.now());
      // Keystone's own 404 is an application credential it does not know; any other is no Keystone.
      const isRefused = answer.status === 401 || (answer.status === 404 && faultOf(error)?.name === 'error');
      if (!isRefused) throw error.with({ kind: 'Unavailable' });
      refused = { until: clock.monotonic() + refusalHoldsMs, error: error.with({ kind: 'Unauthorized' }) };
      throw refused.error;
    }
    const fresh = readSession(answer.header('x-subject-token'), jsonOf(answer, operation), clock, operation);
    const desired = 'destination' in credential ? credential.destination : undefined;
    const [named, told] =
      desired && 'id' in desired ? [desired.id, fresh.projectId] : [desired?.name, fresh.projectName];
    if (named !== told && named !== undefined) {
      const message = `the credential is of project ${told}, the configuration names ${named}`;
      throw new CloudError({ kind: 'Invalid', cloud: 'openstack', operation, message });
    }
    if (project !== undefined && fresh.projectId !== project) {
      const message =
        `the token is of project ${fresh.projectId}, this process serves project ${project}: a restart serves the ` +
        'new one';
      throw new CloudError({ kind: 'Unauthorized', cloud: 'openstack', operation, message });
    }
    return fresh;
  }

  /** All that need a token wait for the one request under way. */
  function session(): Promise<Session> {
    if (current !== undefined && clock.monotonic() < current.renewAt) return Promise.resolve(current);
    asking ??= authenticate()
      .catch((error: unknown) => {
        // While Keystone is away the old token serves to its end.
        if (current === undefined || clock.monotonic() >= current.expiresAt) throw error;
        return { ...current, renewAt: clock.monotonic() + renewalRetryMs };
      })
      .then((fresh) => {
        current = fresh;
        return fresh;
      })
      .finally(() => {
        asking = undefined;
      });
    return asking;
  }

  const sessionFor: Tokens['sessionFor'] = (request) => orAborted(session(), request);

  return {
    session,
    sessionFor,
    drop(token) {
      // Another request may have renewed it meanwhile.
      if (current?.token === token) current = undefined;
    },
    async project(signal) {
      const operation = 'POST /auth/tokens';
      const { projectId } = await sessionFor({ operation, signal });
      if (projectId === undefined) {
        const message = 'the token is of no project; expected a credential scoped to a project';
        throw new CloudError({ kind: 'Invalid', cloud: 'openstack', operation, message });
      }
      project = projectId;
      return projectId;
    },
  };
}

/** A wait for a token that others wait for too, given up alone. */
async function orAborted<Value>(promise: Promise<Value>, { signal, operation }: Waiting): Promise<Value> {
  const failure = { kind: 'Unavailable', cloud: 'openstack', operation, message: 'given up' } as const;
  return unlessAborted(promise, signal, () => new CloudError(failure));
}
