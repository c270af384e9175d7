import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';

/** Where DHCP clients keep what the server answered: systemd-networkd, NetworkManager, dhclient. */
const leaseFolders = [
  'run/systemd/netif/leases',
  'run/NetworkManager/devices',
  'var/lib/NetworkManager',
  'var/lib/dhcp',
  'var/lib/dhclient',
];
const serverIn = /(?:^SERVER_ADDRESS=|dhcp[-_]server[-_]identifier[\s=]+)(\d{1,3}(?:\.\d{1,3}){3})\b/gm;
const maxFiles = 16;
const maxServers = 4;

/**
 * Addresses of the virtual routers that may serve this machine's metadata: the DHCP servers that leases name, then the
 * default gateways. Reads files alone.
 *
 * @param root `/`, or a folder that looks like it
 */
export async function dataServers(root: string): Promise<readonly string[]> {
  const servers: string[] = [];
  for (const folder of leaseFolders) {
    const names = await readdir(join(root, folder)).catch(() => []);
    for (const name of names.sort().slice(0, maxFiles)) {
      const text = await readFile(join(root, folder, name), 'utf8').catch(() => '');
      // The newest lease of a file stands last.
      const last = [...text.matchAll(serverIn)].at(-1)?.[1];
      if (last !== undefined) servers.push(last);
    }
  }
  const routes = await readFile(join(root, 'proc/net/route'), 'utf8').catch(() => '');
  return [...new Set([...servers, ...gatewaysIn(routes)])].slice(0, maxServers);
}

/** Gateways of routes to everywhere. The kernel prints addresses as numbers of this machine's byte order: little. */
function gatewaysIn(table: string): string[] {
  return table.split('\n').flatMap((line) => {
    const [, destination, gateway = ''] = line.split(/\s+/);
    if (destination !== '00000000' || !/^[0-9A-F]{8}$/i.test(gateway) || gateway === '00000000') return [];
    return [Buffer.from(gateway, 'hex').reverse().join('.')];
  });
}
