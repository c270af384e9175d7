import { AssumeRoleCommand, GetCallerIdentityCommand, STSClient, type STSClientConfig } from '@aws-sdk/client-sts';
import { CloudError } from '../../../common/cloud-error.ts';
import { accountOfRole } from './config.ts';
import type { CredentialProvider } from './credentials.ts';
import { clientDefaults, createServiceCalls, type ServiceCallsOptions } from './service-calls.ts';

export interface Sts {
  /** ARN of the credential's owner. Needs no permission. Throws a CloudError. */
  identity(signal?: AbortSignal): Promise<string>;
  /** Number of the account that the credential is of. Needs no permission. Throws a CloudError. */
  account(signal?: AbortSignal): Promise<string>;
  close(): void;
}

export function createSts(config: STSClientConfig, options: ServiceCallsOptions): Sts {
  const calls = createServiceCalls(new STSClient({ ...config, ...clientDefaults(options) }), options);
  const ask = (signal: AbortSignal | undefined) => calls.read(new GetCallerIdentityCommand({}), { signal });
  return {
    identity: async (signal) => (await ask(signal)).Arn ?? 'an identity without an ARN',
    async account(signal) {
      const { Account: account = '' } = await ask(signal);
      if (/^\d{12}$/.test(account)) return account;
      const message = `the answer has no account of twelve digits, but ${JSON.stringify(account)}`;
      throw new CloudError({ kind: 'Invalid', cloud: 'aws', operation: 'GetCallerIdentity', message });
    },
    close: calls.close,
  };
}

export interface AssumeRoleOptions {
  readonly roleArn: string;
  /** Sent with the role's account as `x-amz-source-arn` and `x-amz-source-account`, against the confused deputy. */
  readonly sourceArn: string | undefined;
  /** With the credentials of whose right it is to assume the role. */
  readonly client: STSClientConfig;
  readonly calls: ServiceCallsOptions;
}

/** Credentials of `[Global] RoleARN`. The SDK keeps and renews them; each call of the provider asks STS. */
export function assumeRole({
  roleArn,
  sourceArn,
  client: config,
  calls: options,
}: AssumeRoleOptions): CredentialProvider {
  const client = new STSClient({ ...config, ...clientDefaults(options) });
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
  const calls = createServiceCalls(client, options);
  return async () => {
    const command = new AssumeRoleCommand({ RoleArn: roleArn, RoleSessionName: 'mooring-controller' });
    const { Credentials: given } = await calls.read(command, { urgency: 'change' });
    if (!given?.AccessKeyId || !given.SecretAccessKey || !given.SessionToken) {
      const message = 'the answer has no credentials';
      throw new CloudError({ kind: 'Unauthorized', cloud: 'aws', operation: 'AssumeRole', message });
    }
    return {
      accessKeyId: given.AccessKeyId,
      secretAccessKey: given.SecretAccessKey,
      sessionToken: given.SessionToken,
      ...(given.Expiration ? { expiration: given.Expiration } : {}),
    };
  };
}
