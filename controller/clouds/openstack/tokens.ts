import { CloudError } from '../../../common/cloud-error.ts';
import type { Clock } from '../../../common/process/clock.ts';
import type { HttpAnswer, HttpRequest } from '../../../common/process/http.ts';
import { unlessAborted } from '../../../common/process/until.ts';
import { parseAnswer } from '../answer-fields.ts';
import { createExpiringCredential, type Expiring } from '../expiring-credential.ts';
import { authRequest, type Credential } from './credential.ts';
import { errorOf, faultOf } from './fault.ts';
import { readSession, type Session } from './session.ts';

/** Keystone may lock an account after a few refusals. */
const refusalHoldsMs = 10_000;

/** The token of one credential: asked for once, however many requests wait for it, and renewed before its end. */
export interface Tokens {
  /** The wait for a token ends with the signal. */
  session(signal?: AbortSignal): Promise<Session>;
  /** After a service has refused a token. */
  forget(): void;
  /** Id of the project that the tokens are of. From then on a token of another project is refused. */
  project(signal?: AbortSignal): Promise<string>;
}

export interface TokensOptions {
  readonly clock: Clock;
  readonly credential: Credential;
  /** Ends in `/v3`. */
  readonly authUrl: string;
}

const operation = 'POST /auth/tokens';

export function createTokens(
  { clock, credential, authUrl }: TokensOptions,
  exchange: (
    call: { readonly service: 'identity'; readonly operation: string; readonly urgency: 'change' },
    request: Omit<HttpRequest, 'timeoutMs' | 'signal'>,
  ) => Promise<HttpAnswer>,
): Tokens {
  let refused: { readonly until: number; readonly error: CloudError } | undefined;
  let project: string | undefined;

  const held = createExpiringCredential(authenticate, clock);

  async function authenticate(): Promise<Expiring<Session>> {
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
    const body = parseAnswer(answer.text, { cloud: 'openstack', operation });
    const fresh = readSession(answer.header('x-subject-token'), body, clock, operation);
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
    return { value: fresh, lifeMs: fresh.lifeMs };
  }

  function session(signal?: AbortSignal): Promise<Session> {
    const failure = { kind: 'Unavailable', cloud: 'openstack', operation, message: 'given up' } as const;
    return unlessAborted(held.get(), signal, () => new CloudError(failure));
  }

  return {
    session,
    forget: held.forget,
    async project(signal) {
      const { projectId } = await session(signal);
      if (projectId === undefined) {
        const message = 'the token is of no project; expected a credential scoped to a project';
        throw new CloudError({ kind: 'Invalid', cloud: 'openstack', operation, message });
      }
      project = projectId;
      return projectId;
    },
  };
}
