import type { CloudContext } from '../cloud.ts';
import type { AwsConfig } from './config.ts';
import type { ServiceId } from './service-id.ts';

/**
 * `[ServiceOverride]` of this service and region, else `AWS_ENDPOINT_URL_<SERVICE>`, else `AWS_ENDPOINT_URL`, as the
 * SDKs do. The SDK reads endpoints of the shared config itself.
 */
export function endpointOf(
  service: ServiceId,
  region: string,
  config: Pick<AwsConfig, 'serviceOverrides'>,
  env: CloudContext['env'],
) {
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
