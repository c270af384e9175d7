import type { CloudError } from '../../common/cloud-error.ts';
import type { TokenScheme } from './token-session.ts';

/** EC2's metadata service, version 2. Version 1, which needs no token, is never used. */
export const imdsTokens: TokenScheme = {
  cloud: 'aws',
  path: '/latest/api/token',
  ttlHeader: 'x-aws-ec2-metadata-token-ttl-seconds',
  /** The maximum of AWS. */
  ttlSeconds: 21_600,
  tokenHeader: 'x-aws-ec2-metadata-token',
  optional: false,
  explain: explained,
};

function explained(error: CloudError): CloudError {
  // The hop limit applies to the reply to this PUT only. A reply above it is dropped and the request hangs (EC2 User
  // Guide, "Configure the instance metadata options").
  const hopLimit =
    'the hop limit of the reply may be too low for a container: use the host network, or raise ' +
    'HttpPutResponseHopLimit to 2';
  const because = (why: string) => error.with({ message: error.bareMessage + why, cause: error });
  if (error.kind === 'Timeout') return because(` (${hopLimit})`);
  return error.kind === 'Forbidden' ? because(': the metadata service is switched off for this instance') : error;
}
