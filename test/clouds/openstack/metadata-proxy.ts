import { createHmac } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { dirname, join } from 'node:path';

/** Nova's metadata service as its operator knows it. */
export interface MetadataService {
  readonly url: string;
  /** Shared with Neutron's proxy. */
  readonly secret: string;
}

/**
 * From `LAB_METADATA_URL` and `METADATA_SECRET`, else from the `openrc` beside clouds.yaml. Undefined where neither is
 * set.
 */
export async function metadataService(env: NodeJS.ProcessEnv): Promise<MetadataService | undefined> {
  const file = join(dirname(env['OS_CLIENT_CONFIG_FILE'] ?? ''), 'openrc');
  const text = await readFile(file, 'utf8').catch(() => '');
  const from = (name: string) => env[name] ?? new RegExp(`(?:^|\\s)${name}=['"]?([^'"\\s]*)`).exec(text)?.[1];
  const [url, secret] = [from('LAB_METADATA_URL'), from('METADATA_SECRET')];
  return url === undefined || secret === undefined ? undefined : { url, secret };
}

export interface MetadataProxy {
  /** Instead of `http://169.254.169.254`. */
  readonly url: string;
  close(): void;
}

/** What Neutron's metadata proxy does for one server: it says whose question it is, and signs that. */
export async function startMetadataProxy(
  { url, secret }: MetadataService,
  server: { readonly id: string; readonly projectId: string; readonly address: string },
): Promise<MetadataProxy> {
  const headers = {
    'x-instance-id': server.id,
    'x-tenant-id': server.projectId,
    'x-forwarded-for': server.address,
    'x-instance-id-signature': createHmac('sha256', secret).update(server.id).digest('hex'),
  };
  const proxy = createServer((request, response) => {
    fetch(url + (request.url ?? '/'), { headers })
      .then(async (answer) => {
        const type = answer.headers.get('content-type') ?? 'text/plain';
        response.writeHead(answer.status, { 'content-type': type }).end(await answer.text());
      })
      .catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`,
    close() {
      proxy.closeAllConnections();
      proxy.close();
    },
  };
}
