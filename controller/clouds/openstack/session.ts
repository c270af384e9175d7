import { CloudError } from '../../../common/cloud-error.ts';
import type { Clock } from '../../../common/process/clock.ts';
import { type AnswerFields, answerFields } from '../answer-fields.ts';
import { timeIn } from '../answer-values.ts';

export type ServiceType = 'compute' | 'network' | 'load-balancer' | 'block-storage';

/** What a catalog may call a service, and the version that follows a URL without one. */
const services: Readonly<Record<ServiceType, { readonly types: readonly string[]; readonly version: string }>> = {
  compute: { types: ['compute'], version: 'v2.1' },
  network: { types: ['network'], version: 'v2.0' },
  'load-balancer': { types: ['load-balancer', 'octavia'], version: 'v2.0' },
  'block-storage': { types: ['block-storage', 'volumev3'], version: 'v3' },
};

const versionInPath = /\/v\d+(\.\d+)?(\/|$)/;

interface Endpoint {
  readonly service: string;
  readonly interface: string;
  readonly region: string;
  readonly url: string;
}

/** A token and what came with it. */
export interface Session {
  readonly token: string;
  readonly projectId: string | undefined;
  readonly projectName: string | undefined;
  readonly endpoints: readonly Endpoint[];
  readonly lifeMs: number;
}

/**
 * Reads Keystone's answer. The token's life is `expires_at` minus `issued_at`, so a wrong wall clock on either side
 * renews neither too late nor endlessly.
 *
 * @throws CloudError `Invalid`, naming the field
 */
export function readSession(token: string | null, body: unknown, clock: Clock, operation: string): Session {
  const place = { cloud: 'openstack', operation, secret: true };
  const answer = answerFields(body, place).object('token');
  if (!token) throw answer.wrong('X-Subject-Token', 'a header with the token');
  const expiresAt = timeIn(answer, 'expires_at');
  if (expiresAt === undefined) throw answer.wrong('expires_at', 'a time');
  const project = answer.optionalObject('project');
  return {
    token,
    projectId: project?.optionalText('id'),
    projectName: project?.optionalText('name'),
    endpoints: answer.optionalObjects('catalog').flatMap(endpointsOf),
    lifeMs: expiresAt - (timeIn(answer, 'issued_at') ?? clock.now()),
  };
}

function endpointsOf(entry: AnswerFields): Endpoint[] {
  const service = entry.optionalText('type');
  if (service === undefined) return [];
  return entry.optionalObjects('endpoints').flatMap((endpoint) => {
    const url = endpoint.optionalText('url');
    const parsed = url === undefined ? null : URL.parse(url);
    // One with a name and password in it cannot be asked, and would show them in errors.
    if (url === undefined || parsed === null || parsed.username || parsed.password) return [];
    const region = endpoint.optionalText('region_id') ?? endpoint.optionalText('region') ?? '';
    return [{ service, interface: endpoint.optionalText('interface') ?? '', region, url }];
  });
}

/**
 * The base URL of a service, version included, without a slash at the end.
 *
 * @throws CloudError `Invalid` that says what the catalog has instead
 */
export function endpointOf(
  session: Session,
  service: ServiceType,
  desired: { readonly interface: string; readonly region: string | undefined },
): string {
  const { types, version } = services[service];
  const ofService = types
    .map((type) => session.endpoints.filter((endpoint) => endpoint.service === type))
    .find((endpoints) => endpoints.length > 0);
  const matching = (ofService ?? []).filter(
    (endpoint) =>
      endpoint.interface === desired.interface && (desired.region === undefined || endpoint.region === desired.region),
  );
  const regions = [...new Set(matching.map(({ region }) => region))];
  const [endpoint] = matching;
  const what =
    `${desired.interface} ${service} endpoint` +
    `${desired.region === undefined ? '' : ` in region ${desired.region}`}`;
  const operation = 'catalog';
  if (endpoint === undefined) {
    const there =
      (ofService ?? []).map((other) => `${other.interface} in ${other.region || 'no region'}`).join(', ') || 'none';
    const message = `no ${what}; the catalog has of ${service}: ${there}`;
    throw new CloudError({ kind: 'Invalid', cloud: 'openstack', operation, message });
  }
  if (regions.length > 1) {
    const message = `several regions have a ${what} (${regions.join(', ')}): name one as region`;
    throw new CloudError({ kind: 'Invalid', cloud: 'openstack', operation, message });
  }
  const base = endpoint.url.replace(/\/+$/, '');
  return versionInPath.test(new URL(base).pathname) ? base : `${base}/${version}`;
}

/** The URL at which a service lists its versions: its base URL without the version and what follows that. */
export function rootOf(endpoint: string): string {
  const url = new URL(endpoint);
  url.pathname = url.pathname.replace(/\/v\d+(\.\d+)?(\/.*)?$/, '/');
  return url.href;
}
