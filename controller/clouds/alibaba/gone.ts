import { isCloudError } from '../../../common/cloud-error.ts';

/** Undefined where the API says that it is not there. */
export async function unlessGone<T>(read: Promise<T>): Promise<T | undefined> {
  try {
    return await read;
  } catch (error) {
    if (isCloudError(error) && error.kind === 'NotFound') return undefined;
    throw error;
  }
}
