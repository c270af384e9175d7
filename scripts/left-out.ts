import type { Plugin } from 'esbuild';

/** Puts a text of ours in the place of a module, except where that text itself asks for it. */
function replaced(filter: RegExp, contents: string): Plugin {
  const namespace = `replaced ${filter.source}`;
  return {
    name: namespace,
    setup({ onResolve, onLoad, initialOptions }) {
      onResolve({ filter }, ({ path, namespace: from }) => (from === namespace ? undefined : { path, namespace }));
      onLoad({ filter: /.*/, namespace }, () => ({
        contents,
        loader: 'js',
        resolveDir: initialOptions.absWorkingDir!,
      }));
    },
  };
}

/** Leaves out a module whose exports are named but never called; a call would say so. */
function absent(filter: RegExp, ...exports: readonly string[]): Plugin {
  const calls = exports.map(
    (name) => `exports.${name} = () => { throw new Error('${name} is not part of this build'); };`,
  );
  return replaced(filter, `module.exports = {}; ${calls.join(' ')}`);
}

/** Runs a package only when one of these exports is asked for, as most processes never do. */
function lazily(name: string, ...exports: readonly string[]): Plugin {
  const getters = exports.map((key) => `get ${key}() { return require('${name}').${key}; }`);
  return replaced(new RegExp(`^${name}$`), `module.exports = { ${getters.join(', ')} };`);
}

/** Of prom-client the cluster, pushgateway, summary and default metrics are left out. */
const metricsAlone = replaced(
  /^prom-client$/,
  `exports.Registry = require('prom-client/lib/registry');
   exports.Counter = require('prom-client/lib/counter');
   exports.Gauge = require('prom-client/lib/gauge');
   exports.Histogram = require('prom-client/lib/histogram');`,
);

/**
 * Modules that the agent's libraries load and the agent never uses; without them every agent is some 2 MiB smaller. The
 * streams are fetch-blob's, which node-fetch needs for form data.
 */
export const leftOutOfAgent: readonly Plugin[] = [replaced(/^\.\/streams\.cjs$/, ''), metricsAlone];

/**
 * Modules that the controller's libraries load and the controller never uses: of client-node the HTTP stacks, proxies
 * and generated clients, of fastify the schema compilers (typebox checks the report's schema), the logger, the test
 * client and HTTP/2. Modules that few kubeconfigs need are loaded on demand.
 */
export const leftOutOfController: readonly Plugin[] = [
  metricsAlone,
  absent(/^undici$/, 'Agent', 'ProxyAgent'),
  absent(/^(socks|socks-proxy-agent|hpagent)$/, 'SocksClient', 'SocksProxyAgent', 'HttpProxyAgent', 'HttpsProxyAgent'),
  absent(
    /^\.\/gen\/index\.js$|^\.\/middleware\.js$/,
    'createConfiguration',
    'ServerConfiguration',
    'setHeaderMiddleware',
  ),
  lazily('openid-client', 'discovery', 'refreshTokenGrant', 'customFetch'),
  lazily('jsonpath-plus', 'JSONPath'),
  lazily('js-yaml', 'load'),
  lazily('yaml', 'parse'),
  replaced(
    /^@fastify\/(ajv|fast-json-stringify)-compiler$/,
    "module.exports = () => () => { throw new Error('schemas of fastify are not part of this build'); };",
  ),
  absent(/^\.\/logger-pino\.js$/, 'createPinoLogger'),
  absent(/^light-my-request$/),
  absent(/^node:http2$/, 'createServer', 'createSecureServer'),
  lazily('node:zlib', 'gunzip'),
  // It asks whether a plugin fits this fastify, which the lockfile has settled; loading it compiles dozens of
  // expressions.
  replaced(/^semver$/, 'exports.satisfies = () => true;'),
];
