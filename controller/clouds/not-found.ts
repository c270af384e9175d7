import { isCloudError } from '../../common/cloud-error.ts';

/** What a read answers; undefined where the cloud says that it does not exist. Throws every other error of it. */
export async function unlessNotFound<T>(read: Promise<T>): Promise<T | undefined> {
  try {
    return await read;
  } catch (error) {
    if (isCloudError(error) && error.kind === 'NotFound') return undefined;
    throw error;
  }
}
