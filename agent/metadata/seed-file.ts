import { readFile } from 'node:fs/promises';
import { CloudError } from '../../common/cloud-error.ts';

const missing: ReadonlySet<string | undefined> = new Set(['ENOENT', 'ENOTDIR']);

/** The text of a file that the platform wrote. Undefined where there is none; throws a CloudError. */
export async function readSeedFile(
  file: string,
  { cloud, operation }: { readonly cloud: string; readonly operation: string },
  maxBytes: number,
): Promise<string | undefined> {
  let text: string;
  try {
    text = await readFile(file, 'utf8');
  } catch (cause) {
    if (missing.has((cause as NodeJS.ErrnoException).code)) return undefined;
    const message = cause instanceof Error ? cause.message : String(cause);
    throw new CloudError({ cloud, operation, kind: 'Unavailable', message, cause });
  }
  if (text.length > maxBytes)
    throw new CloudError({ cloud, operation, kind: 'Invalid', message: `exceeds ${maxBytes} bytes` });
  return text;
}
