import { CloudError } from '../../../common/cloud-error.ts';
import { type Http, HttpFailure } from '../../../common/process/http.ts';
import { answerFields, parseAnswer } from '../answer-fields.ts';
import type { Environment } from './environment.ts';
import { cloud } from './fault.ts';

const operation = 'GET /metadata/endpoints';
const timeoutMs = 10_000;

/**
 * Asks Resource Manager at an endpoint where its tokens come from, once. `name` picks one of several environments.
 * Throws a CloudError.
 */
export function createDiscovery(http: Http, endpoint: string, name: string): () => Promise<Environment> {
  let found: Promise<Environment> | undefined;

  async function ask(): Promise<Environment> {
    const all = await read();
    const one = all.find((each) => name === '' || each.optionalText('name')?.toLowerCase() === name.toLowerCase());
    if (one === undefined) throw failure('Invalid', `no environment is named ${JSON.stringify(name)}: see cloud`);
    const authentication = one.object('authentication');
    const [audience] = authentication.texts('audiences');
    const authority = authentication.text('loginEndpoint');
    // A credential goes there: never in the clear, where Resource Manager itself is not.
    const isSafe = URL.parse(authority)?.protocol === 'https:' || endpoint.startsWith('http://');
    if (audience === undefined || !isSafe)
      throw failure('Invalid', `loginEndpoint: ${JSON.stringify(authority)}, expected an https URL and an audience`);
    return { endpoint, authority: authority.replace(/\/+$/, ''), audience: audience.replace(/\/+$/, '') };
  }

  async function read() {
    try {
      const answer = await http({ url: `${endpoint}/metadata/endpoints?api-version=2019-05-01`, timeoutMs });
      if (answer.status !== 200) throw failure('Unavailable', `status ${answer.status}`);
      const environments = parseAnswer(answer.text, { cloud, operation });
      return answerFields({ environments }, { cloud, operation }).objects('environments');
    } catch (cause) {
      if (!(cause instanceof HttpFailure)) throw cause;
      throw failure(cause.kind === 'timeout' ? 'Timeout' : 'Unavailable', cause.message);
    }
  }

  return () => {
    found ??= ask().catch((error: unknown) => {
      found = undefined;
      throw error;
    });
    return found;
  };
}

function failure(kind: CloudError['kind'], message: string): CloudError {
  return new CloudError({ kind, cloud, operation, message });
}
