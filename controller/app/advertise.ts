import { readFileSync } from 'node:fs';
import { networkInterfaces } from 'node:os';

/** The inputs for the choice of an address; by default those of the system. */
export interface AddressSources {
  /** `/proc/net/route`. */
  readonly routes: string;
  readonly interfaces: Readonly<
    Record<
      string,
      readonly { readonly address: string; readonly family: string; readonly internal: boolean }[] | undefined
    >
  >;
}

export function systemAddresses(): AddressSources {
  let routes = '';
  try {
    routes = readFileSync('/proc/net/route', 'utf8');
  } catch {
    // Without /proc the default route is unknown, so the first external interface is used.
  }
  return { routes, interfaces: networkInterfaces() };
}

/**
 * The address at which this machine is most likely reachable: that of the interface with the default route, else the
 * first one that is not internal, else loopback. IPv4 is preferred.
 */
export function defaultRouteAddress({ routes, interfaces }: AddressSources): string {
  const rows = routes
    .split('\n')
    .slice(1)
    .map((line) => line.trim().split(/\s+/));
  const defaults = rows
    .filter(([, destination, , , , , , mask]) => destination === '00000000' && mask === '00000000')
    .sort((a, b) => Number(a[6]) - Number(b[6]))
    .map(([name]) => name ?? '');
  const ordered = [...defaults, ...Object.keys(interfaces)];
  for (const family of ['IPv4', 'IPv6']) {
    for (const name of ordered) {
      const found = interfaces[name]?.find(
        (each) => each.family === family && !each.internal && !each.address.startsWith('fe80:'),
      );
      if (found) return found.address;
    }
  }
  return '127.0.0.1';
}

/** `https://host:port` of the report API. */
export function reportUrl(host: string, port: number): string {
  return `https://${host.includes(':') ? `[${host}]` : host}:${port}`;
}
