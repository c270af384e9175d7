import type { Clock } from '../../common/process/clock.ts';
import type { Http, HttpAnswer, HttpRequest } from '../../common/process/http.ts';
import { huaweicloud as providerId } from '../../common/provider-id/huaweicloud.ts';
import { createMetadataHttp } from './client.ts';
import { openOpenstack } from './openstack.ts';
import type { SourceKind } from './source.ts';

const tokenPath = '/meta-data/latest/api/token';
/** The maximum of Huawei Cloud. */
const tokenTtlSeconds = 21_600;
const renewBeforeMs = 60_000;

/**
 * Huawei Cloud: OpenStack's documents, a `region_id` in them and a providerID of its own (support.huaweicloud.com, ECS,
 * "Obtaining Metadata").
 */
export const huaweicloud: SourceKind = {
  cloud: 'huaweicloud',
  detect: (dmi) => dmi.chassisAssetTag === 'HUAWEICLOUD',
  open: (options) =>
    openOpenstack(
      'huaweicloud',
      options,
      (id) => providerId.print({ instanceId: id }),
      withTokens(createMetadataHttp(options.clock), options.clock),
    ),
};

/**
 * Adds a token to requests where the service requires one. That is an option per ECS in few regions ("Configuring
 * Instance Metadata Options"), so a token is fetched only after a request without one was refused.
 */
function withTokens(http: Http, clock: Clock): Http {
  let token: { readonly text: string; readonly renewAtMs: number } | undefined;

  async function fetchToken(request: HttpRequest): Promise<boolean> {
    const baseUrl = request.url.replace(/\/(?:openstack|latest)\/.*$/, '');
    const headers = { 'x-metadata-token-ttl-seconds': String(tokenTtlSeconds) };
    const renewAtMs = clock.monotonic() + tokenTtlSeconds * 1000 - renewBeforeMs;
    const { status, text } = await http({ ...request, method: 'PUT', url: baseUrl + tokenPath, headers });
    const usable = status >= 200 && status < 300 && /^[\x21-\x7e]+$/.test(text.trim());
    token = usable ? { text: text.trim(), renewAtMs } : undefined;
    return usable;
  }

  function ask(request: HttpRequest): Promise<HttpAnswer> {
    if (token === undefined) return http(request);
    return http({ ...request, headers: { ...request.headers, 'x-metadata-token': token.text } });
  }

  return async (request) => {
    if (token !== undefined && clock.monotonic() >= token.renewAtMs) token = undefined;
    const answer = await ask(request);
    const refused = answer.status === 401 || answer.status === 403;
    return refused && (await fetchToken(request)) ? ask(request) : answer;
  };
}
