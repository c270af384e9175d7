import { AssumeRoleCommand, GetCallerIdentityCommand, type STSClient } from '@aws-sdk/client-sts';
import { accountOfRole } from './config.ts';
import type { CredentialProvider } from './credentials.ts';
import { awsError, invalid } from './errors.ts';
import { createServiceCalls, type ServiceCallsOptions } from './service-calls.ts';

export type Sts = ReturnType<typeof createSts>;

export function createSts(client: STSClient, options: ServiceCallsOptions) {
  const calls = createServiceCalls(client, options);
  const ask = (signal: AbortSignal | undefined) => calls.read(new GetCallerIdentityCommand({}), { signal });
  return {
    /** ARN of the credential's owner. Needs no permission. Throws a CloudError. */
    identity: async (signal?: AbortSignal) => (await ask(signal)).Arn ?? 'an identity without an ARN',
    /** Number of the account that the credential is of. Needs no permission. Throws a CloudError. */
    async account(signal?: AbortSignal) {
      const { Account: account = '' } = await ask(signal);
      if (/^\d{12}$/.test(account)) return account;
      const shown = JSON.stringify(account);
      throw invalid('GetCallerIdentity', `the answer has no account of twelve digits, but ${shown}`);
    },
    /**
     * Credentials of `[Global] RoleARN`. The SDK keeps and renews them; each call of the provider asks STS.
     *
     * @param sourceArn sent with the role's account as `x-amz-source-arn` and `x-amz-source-account`, against the
     *   confused deputy
     */
    assumeRole({ roleArn, sourceArn }: { roleArn: string; sourceArn: string | undefined }): CredentialProvider {
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
        const { Credentials: given } = await calls.read(command, { urgency: 'change' });
        if (!given?.AccessKeyId || !given.SecretAccessKey || !given.SessionToken)
          throw awsError('Unauthorized', 'AssumeRole', 'the answer has no credentials');
        return {
          accessKeyId: given.AccessKeyId,
          secretAccessKey: given.SecretAccessKey,
          sessionToken: given.SessionToken,
          ...(given.Expiration ? { expiration: given.Expiration } : {}),
        };
      };
    },
    close: calls.close,
  };
}
