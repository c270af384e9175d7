import ipaddr from 'ipaddr.js';
import type { ProxyFor } from './proxy.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/** Metadata services answer the VM itself and no proxy. Besides those at link-local addresses. */
const metadataHosts = ['metadata.google.internal', '100.100.100.200', 'fd00:ec2::254'];

/**
 * Reads `HTTPS_PROXY`, `HTTP_PROXY` and `NO_PROXY`, also in lower case, as Go's programs do: `NO_PROXY` lists hosts
 * with their subdomains, `.domains` (subdomains alone), addresses and CIDRs, each with or without a port, or `*`.
 * Loopback and metadata services are never asked through a proxy. Throws an Error that names the variable and not its
 * value, which may have a password.
 */
export function readProxies(env: Environment): ProxyFor {
  const { proxies, exceptions } = readVariables(env);
  return (url) => {
    const proxy = proxies.get(url.protocol);
    if (proxy === undefined) return undefined;
    const host = url.hostname.replace(/^\[|\]$/g, '').toLowerCase();
    const port = url.port || (url.protocol === 'https:' ? '443' : '80');
    return isLocal(host) || exceptions.some((entry) => isExcepted(entry, host, port)) ? undefined : proxy;
  };
}

/**
 * The same for an agent of Node that chooses by itself, as the SDK's do: of `NO_PROXY` it does not know CIDRs. Throws
 * as `readProxies`.
 */
export function agentEnvironment(env: Environment): { readonly [name: string]: string } | undefined {
  const { proxies, exceptions } = readVariables(env);
  if (proxies.size === 0) return undefined;
  const domains = exceptions.filter((entry) => /^[a-z][^:]*$/.test(entry)).map((entry) => `.${entry}`);
  const local = ['localhost', '127.0.0.1', '::1', '169.254.169.254'];
  return {
    ...Object.fromEntries([...proxies].map(([scheme, proxy]) => [scheme.toUpperCase().replace(':', '_PROXY'), proxy])),
    NO_PROXY: [...exceptions, ...domains, ...local].join(),
  };
}

/** A proxy's URL; one without a scheme is `http://`. Throws an Error that names `where` and not the value. */
export function proxyUrl(where: string, value: string): string {
  const text = /^[a-z][a-z0-9+.-]*:\/\//i.test(value) ? value : `http://${value}`;
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || (url.protocol !== 'http:' && url.protocol !== 'https:') || url.hostname === '')
    throw new Error(`${where}: expected the http:// or https:// URL of a proxy`);
  return url.href;
}

/** The proxies by the scheme of the target, `https:`. */
function readVariables(env: Environment) {
  const read = (name: string) => env[name]?.trim() || env[name.toLowerCase()]?.trim() || undefined;
  const proxies = new Map<string, string>();
  for (const scheme of ['https', 'http']) {
    const name = `${scheme.toUpperCase()}_PROXY`;
    const value = read(name);
    if (value !== undefined) proxies.set(`${scheme}:`, proxyUrl(name, value));
  }
  const exceptions = (read('NO_PROXY') ?? '').split(',').flatMap((entry) => entry.trim().toLowerCase() || []);
  return { proxies, exceptions };
}

function isLocal(host: string): boolean {
  if (host === 'localhost' || host.endsWith('.localhost') || metadataHosts.includes(host)) return true;
  const range = addressOf(host)?.range();
  return range === 'loopback' || range === 'linkLocal';
}

/** An address, of IPv4 also where it is written as one of IPv6. */
function addressOf(text: string): ipaddr.IPv4 | ipaddr.IPv6 | undefined {
  return ipaddr.isValid(text) ? ipaddr.process(text) : undefined;
}

function isExcepted(entry: string, host: string, port: string): boolean {
  if (entry === '*') return true;
  if (ipaddr.isValidCIDR(entry)) {
    const address = addressOf(host);
    const [network, bits] = ipaddr.parseCIDR(entry);
    return address !== undefined && address.kind() === network.kind() && address.match(network, bits);
  }
  const [, name = '', only] = /^(.*?)(?::(\d+))?$/.exec(addressOf(entry) ? `[${entry}]` : entry) ?? [];
  if (only !== undefined && only !== port) return false;
  const bare = name.replace(/^\[|\]$/g, '');
  const address = addressOf(bare);
  if (address !== undefined) return addressOf(host)?.toString() === address.toString();
  const domain = bare.replace(/^\*\./, '.');
  return domain.startsWith('.') ? host.endsWith(domain) : host === domain || host.endsWith(`.${domain}`);
}
