import { AssumeRoleCommand, STSClient } from '@aws-sdk/client-sts';
import { accountOfRole } from './config.ts';
import type { CredentialProvider } from './credentials.ts';

export interface AssumeRoleOptions {
  readonly roleArn: string;
  /** Sent with the role's account as `x-amz-source-arn` and `x-amz-source-account`, against the confused deputy. */
  readonly sourceArn: string | undefined;
  readonly region: string;
  readonly endpoint: string | undefined;
  /** Whose right it is to assume the role. */
  readonly master: CredentialProvider;
}

/** Credentials of `[Global] RoleARN`. The SDK keeps and renews them; each call of the provider asks STS. */
export function assumeRole({ roleArn, sourceArn, region, endpoint, master }: AssumeRoleOptions): CredentialProvider {
  const client = new STSClient({ region, credentials: master, maxAttempts: 1, ...(endpoint ? { endpoint } : {}) });
  if (sourceArn !== undefined) {
    client.middlewareStack.add(
      (next) => (args) => {
        const { headers } = args.request as { headers: Record<string, string> };
        headers['x-amz-source-arn'] = sourceArn;
        headers['x-amz-source-account'] = accountOfRole(roleArn) ?? '';
        return next(args);
      },
      { step: 'build', name: 'sourceOfAssumeRole' },
    );
  }
  return async () => {
    const command = new AssumeRoleCommand({ RoleArn: roleArn, RoleSessionName: 'mooring-controller' });
    const { Credentials: given } = await client.send(command);
    if (!given?.AccessKeyId || !given.SecretAccessKey || !given.SessionToken) {
      throw new Error('sts:AssumeRole answered without credentials');
    }
    return {
      accessKeyId: given.AccessKeyId,
      secretAccessKey: given.SecretAccessKey,
      sessionToken: given.SessionToken,
      ...(given.Expiration ? { expiration: given.Expiration } : {}),
    };
  };
}
