import { CloudError } from '../../../common/cloud-error.ts';
import type { Clock } from '../../../common/process/clock.ts';
import { type JsonObject, objectOf, objectsOf, textOf } from './json.ts';

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
  /** On the monotonic clock: when to ask for the next token. */
  readonly renewAt: number;
  /** On the monotonic clock. */
  readonly expiresAt: number;
}

/**
 * Reads Keystone's answer. The token's life is `expires_at` minus `issued_at`, counted on the monotonic clock, so a
 * wrong wall clock on either side renews neither too late nor endlessly.
 *
 * @throws CloudError `Invalid`, naming the field
 */
export function readSession(token: string | null, body: unknown, clock: Clock, operation: string): Session {
  const bad = (field: string) =>
    new CloudError({ kind: 'Invalid', cloud: 'openstack', operation, message: `the answer has no usable ${field}` });
  if (!token) throw bad('X-Subject-Token');
  const answer = objectOf(objectOf(body)?.['token']);
  if (answer === undefined) throw bad('token');
  const expiresAt = Date.parse(String(answer['expires_at']));
  if (Number.isNaN(expiresAt)) throw bad('token.expires_at');
  const issuedAt = Date.parse(String(answer['issued_at']));
  const lifeMs = expiresAt - (Number.isNaN(issuedAt) ? clock.now() : issuedAt);
  const project = objectOf(answer['project']);
  return {
    token,
    projectId: textOf(project?.['id']),
    projectName: textOf(project?.['name']),
    endpoints: objectsOf(answer['catalog']).flatMap(endpointsOf),
    renewAt: clock.monotonic() + Math.max(lifeMs / 2, lifeMs - 120_000),
    expiresAt: clock.monotonic() + lifeMs,
  };
}

function endpointsOf(entry: JsonObject): Endpoint[] {
  const service = textOf(entry['type']);
  if (service === undefined) return [];
  return objectsOf(entry['endpoints']).flatMap((endpoint) => {
    const url = textOf(endpoint['url']);
    const parsed = url === undefined ? null : URL.parse(url);
    // One with a name and password in it cannot be asked, and would show them in errors.
    if (url === undefined || parsed === null || parsed.username || parsed.password) return [];
    const region = textOf(endpoint['region_id']) ?? textOf(endpoint['region']) ?? '';
    return [{ service, interface: textOf(endpoint['interface']) ?? '', region, url }];
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
