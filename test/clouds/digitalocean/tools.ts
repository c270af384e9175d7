import { join } from 'node:path';
import { goProgram, openApiFile, type Tool } from '../proof-tools.ts';

const file = 'digitalocean.com.json';

/** The OpenAPI document of DigitalOcean, as it is. */
export async function openApiDocument(): Promise<Tool<{ file: string }>> {
  const tool = await openApiFile(file);
  return 'skipped' in tool ? tool : { file: join(tool.folder, file) };
}

/** The program of `clients/go`, built of the vendor's Go client. */
export function goClient(): Promise<Tool<{ program: string }>> {
  return goProgram(join(import.meta.dirname, 'clients/go'), 'digitalocean-go-client');
}
