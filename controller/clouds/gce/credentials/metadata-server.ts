import { CloudError } from '../../../../common/cloud-error.ts';
import type { Exchange } from '../../exchange.ts';
import { cloud } from '../fault.ts';

export type MetadataServer = ReturnType<typeof createMetadataServer>;

const timeoutMs = 3000;

/** The metadata service of the VM where the controller runs. @param host perhaps with a port: GCE_METADATA_HOST */
export function createMetadataServer(exchange: Exchange, host: string) {
  /** The text of an attribute, by its path from `computeMetadata/v1/`. Throws a CloudError. */
  async function read(path: string): Promise<string> {
    const operation = `GET metadata ${path}`;
    const url = `http://${host}/computeMetadata/v1/${path}`;
    const answer = await exchange(operation, { url, headers: { 'metadata-flavor': 'Google' }, timeoutMs });
    const fail = (kind: CloudError['kind'], message: string) => new CloudError({ kind, cloud, operation, message });
    // Others share Google's address; their answers are not believed.
    if (answer.header('metadata-flavor') !== 'Google') throw fail('Unavailable', 'something else than Google answers');
    if (answer.status === 404) throw fail('Unauthorized', 'the VM has no such attribute: has it a service account?');
    if (answer.status !== 200) throw fail('Unavailable', String(answer.status));
    return answer.text.trim();
  }
  return {
    read,
    /** Whether it is there. Never throws. */
    answers: (): Promise<boolean> =>
      read('project/project-id').then(
        () => true,
        () => false,
      ),
  };
}
