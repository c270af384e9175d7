import type { CredentialProvider } from './credentials.ts';
import { awsError } from './errors.ts';

type Credential = Awaited<ReturnType<CredentialProvider>>;

/**
 * The one account that a scope reaches, whatever the credential source hands out later.
 *
 * A source may change its account while the process runs: a profile whose file was replaced is read again when its
 * credential expires. Every instance of the first account would then seem absent, so STS names the account of each new
 * credential before its first use.
 *
 * @param ask which account this very credential is of, as STS says
 */
export function createAccount(
  source: CredentialProvider,
  ask: (credential: Credential, signal: AbortSignal | undefined) => Promise<string>,
) {
  let known: string | undefined;
  let provedKey: string | undefined;

  async function prove(credential: Credential, signal?: AbortSignal): Promise<string> {
    const account = known !== undefined && credential.accessKeyId === provedKey ? known : await ask(credential, signal);
    if (known !== undefined && account !== known) {
      const message =
        `the credential is of account ${account}, this process serves account ${known}: a restart serves the new ` +
        'one';
      throw awsError('Unauthorized', 'GetCallerIdentity', message);
    }
    known = account;
    provedKey = credential.accessKeyId;
    return account;
  }

  return {
    /** The credentials of the source; once the account is known, none of another account comes through. */
    async credentials(properties?: Parameters<CredentialProvider>[0]) {
      const credential = await source(properties);
      if (known !== undefined) await prove(credential);
      return credential;
    },
    /** The account's number. Asks once; a failure is asked again at the next call. Throws a CloudError. */
    number: async (signal?: AbortSignal) => prove(await source(), signal),
  };
}
