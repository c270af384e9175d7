import { fork } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';

/** Azure's metadata service of many VMs at one port. */
export interface AzureMetadata {
  /** For a program that can be told where the service is. */
  urlOf(vm: string): string;
  /** The proxy for a program that cannot: in HTTP_PROXY it brings requests to 169.254.169.254 here. */
  proxyOf(vm: string): string;
  stop(): Promise<void>;
}

interface MetadataRequest {
  readonly path: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
}

/** The VM that a request is about, and the path that it asks its service for. Undefined for any other request. Pure. */
export function askedOf({
  path,
  headers,
}: MetadataRequest): { readonly vm: string; readonly path: string } | undefined {
  const proxied = /^http:\/\/169\.254\.169\.254(\/.*)$/.exec(path)?.[1];
  if (proxied !== undefined) {
    const basic = /^Basic (.+)$/.exec(String(headers['proxy-authorization']))?.[1];
    const vm = Buffer.from(basic ?? '', 'base64')
      .toString('utf8')
      .split(':', 1)[0];
    return vm ? { vm, path: proxied } : undefined;
  }
  const [, vm, own] = /^\/([^/]+)(\/.*)$/.exec(path) ?? [];
  return vm === undefined || own === undefined ? undefined : { vm, path: own };
}

/**
 * An instance of a scale set for each of the names, in zone 2, with one private address. In a process of its own: one
 * that starts many others gives no answer while it does.
 */
export async function startAzureMetadata(vms: readonly string[]): Promise<AzureMetadata> {
  const child = fork(new URL('azure-metadata-process.ts', import.meta.url), {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  const answer = once(child, 'message');
  child.send(vms);
  const [url] = (await answer) as [string];
  return {
    urlOf: (vm) => `${url}/${vm}`,
    proxyOf: (vm) => url.replace('//', `//${vm}@`),
    async stop() {
      const gone = once(child, 'exit');
      child.disconnect();
      await gone;
    },
  };
}

/** The documents of these VMs by name. */
export async function instanceDocuments(vms: readonly string[]): Promise<ReadonlyMap<string, string>> {
  const fixture = new URL('../agent/metadata/fixtures/azure/instance.json', import.meta.url);
  const { compute } = JSON.parse(await readFile(fixture, 'utf8'));
  return new Map(vms.map((vm, index) => [vm, JSON.stringify(documentOf(compute, vm, index))]));
}

function documentOf(compute: { readonly resourceId: string }, vm: string, index: number): object {
  const privateIpAddress = `10.${224 + (index >> 16)}.${(index >> 8) & 255}.${index & 255}`;
  return {
    compute: {
      ...compute,
      name: vm,
      osProfile: { computerName: vm },
      resourceId: compute.resourceId.replace(/\d+$/, `${index}`),
      vmId: `02aab8a4-74ef-476e-8182-${index.toString(16).padStart(12, '0')}`,
    },
    network: { interface: [{ ipv4: { ipAddress: [{ privateIpAddress, publicIpAddress: '' }] } }] },
  };
}
