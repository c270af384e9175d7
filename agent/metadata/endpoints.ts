import { type CloudError, isCloudError } from '../../common/cloud-error.ts';
import type { MetadataClient } from './client.ts';
import type { LocalInterface } from './source.ts';

/** Whether another address of the same service may answer, because this one did not answer at all. */
export function isEndpointFailure(error: CloudError): boolean {
  return error.kind === 'Timeout' || (error.kind === 'Unavailable' && error.cause !== undefined);
}

/**
 * Tries the addresses of one service in turn until one answers; a refusal is an answer. Throws the CloudError of the
 * first address, with the messages of the others.
 *
 * @param clients in the order of the tries
 */
export async function askInTurn<T>(
  clients: readonly MetadataClient[],
  ask: (client: MetadataClient) => Promise<T>,
  signal: AbortSignal,
): Promise<{ readonly client: MetadataClient; readonly answer: T }> {
  const failures: CloudError[] = [];
  for (const client of clients) {
    try {
      return { client, answer: await ask(client) };
    } catch (error) {
      if (!isCloudError(error)) throw error;
      failures.push(error);
      if (signal.aborted || !isEndpointFailure(error)) break;
    }
  }
  throw joined(failures);
}

/** Moves the client that answered to the front. */
export function preferring(
  clients: readonly MetadataClient[],
  first: MetadataClient | undefined,
): readonly MetadataClient[] {
  return first === undefined ? clients : [first, ...clients.filter((client) => client !== first)];
}

/** Limits the number of interfaces, so that a missing service is detected within seconds. */
const maxLinkLocal = 4;

/**
 * The service's link-local IPv6 address on each interface with such an address: the only access on networks without
 * IPv4.
 */
export function linkLocalUrls(interfaces: readonly LocalInterface[]): string[] {
  return interfaces
    .filter(({ addresses }) => addresses.some((address) => address.toLowerCase().startsWith('fe80:')))
    .slice(0, maxLinkLocal)
    .map(({ name }) => `http://[fe80::a9fe:a9fe%25${name}]`);
}

function joined(failures: readonly CloudError[]): CloudError {
  const first = failures[0]!;
  if (failures.length === 1) return first;
  const message = failures.map(({ bareMessage }) => bareMessage).join('; then ');
  return first.with({ message, cause: first });
}
