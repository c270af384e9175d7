/** URL of the HTTP proxy for requests to that URL; undefined: no proxy. */
export type ProxyFor = (url: URL) => string | undefined;

export const noProxy: ProxyFor = () => undefined;

/** Options of an agent of `node:http` or `node:https` whose every request goes through this proxy. */
export function throughProxy(proxy: string | undefined): {
  readonly proxyEnv?: { readonly HTTPS_PROXY: string; readonly HTTP_PROXY: string };
} {
  return proxy === undefined ? {} : { proxyEnv: { HTTPS_PROXY: proxy, HTTP_PROXY: proxy } };
}
