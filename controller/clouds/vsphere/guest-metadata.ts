import { gunzipSync } from 'node:zlib';
import { readYaml } from '../yaml-text.ts';

const maxBytes = 1024 * 1024;

/**
 * The addresses that a VM's `guestinfo.metadata` gives to its interfaces, in its order: an address that something in
 * the guest adds later, as kube-vip does, is not among them. Empty for what cannot be read. Pure.
 */
export function configuredAddresses(metadata: string | undefined, encoding: string | undefined): readonly string[] {
  try {
    const document = contentOf(decode(metadata ?? '', encoding));
    const { network } = document;
    const inner = typeof network === 'string' ? contentOf(decode(network, document['network.encoding'])) : network;
    const { ethernets } = inner?.network ?? inner;
    const addresses = Object.values(ethernets as Record<string, { addresses?: unknown[] }>);
    return addresses.flatMap((one) => (one.addresses ?? []).map((address) => String(address).split('/')[0]!));
  } catch {
    return [];
  }
}

// biome-ignore lint/suspicious/noExplicitAny: what is not there throws, and then there are no addresses
function contentOf(text: string): any {
  const read = readYaml(text, { schema: 'core' });
  return 'content' in read ? read.content : undefined;
}

function decode(text: string, encoding: string | undefined): string {
  if (encoding === undefined || encoding === '') return text;
  const bytes = Buffer.from(text, 'base64');
  const isZipped = encoding === 'gzip+base64' || encoding === 'gz+b64';
  return (isZipped ? gunzipSync(bytes, { maxOutputLength: maxBytes }) : bytes).toString('utf8');
}
