import type { CloudContext } from '../cloud.ts';
import type { AwsConfig } from './config.ts';
import type { ServiceId } from './service-id.ts';

/** What an SDK client is given where its calls do not go to the service's own address. */
export interface EndpointSettings {
  readonly endpoint?: string;
  readonly signingRegion?: string;
  readonly signingName?: string;
}

/**
 * `[ServiceOverride]` of this service and region, else `AWS_ENDPOINT_URL_<SERVICE>`, else `AWS_ENDPOINT_URL`, as the
 * SDKs do. The SDK reads endpoints of the shared config itself.
 */
export function endpointOf(
  service: ServiceId,
  region: string,
  config: Pick<AwsConfig, 'serviceOverrides'>,
  env: CloudContext['env'],
): EndpointSettings {
  const override = config.serviceOverrides.find((one) => one.service === service && one.region === region);
  if (override !== undefined) {
    const { url: endpoint, signingRegion, signingName } = override;
    return { endpoint, signingRegion, ...(signingName !== undefined && { signingName }) };
  }
  if (env['AWS_IGNORE_CONFIGURED_ENDPOINT_URLS']?.toLowerCase() === 'true') return {};
  const variable = service.toUpperCase().replaceAll(' ', '_');
  const endpoint = env[`AWS_ENDPOINT_URL_${variable}`] || env['AWS_ENDPOINT_URL'];
  return endpoint ? { endpoint } : {};
}
