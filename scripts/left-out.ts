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
  return replaced(new RegExp(`^${name}$`), gettersOf(name, exports));
}

/** Of yaml, what reads cloud configs and kubeconfigs. */
const yamlExports = ['parse'];

/**
 * What few controllers need, or clouds use, too, each in a file of its own in `packages/` beside the controller: V8
 * keeps the whole text of a file that it has loaded. By package, a module that loads that file when it is first used.
 */
export const packagesOnDemand: ReadonlyMap<string, string> = new Map([
  // Kubeconfigs with the auth provider `oidc`.
  ['openid-client', loadingOnUse('openid-client', 'discovery', 'refreshTokenGrant', 'customFetch')],
  // Kubeconfigs with the auth provider `gcp` or `azure`.
  ['jsonpath-plus', loadingOnUse('jsonpath-plus', 'JSONPath')],
  // The keys and certificates behind signed documents. Clouds have a copy of their own.
  ['node-fetch', `module.exports = (...request) => require('${packageFile('node-fetch')}').default(...request);`],
  // One copy for the controller and all clouds.
  ['yaml', loadingOnUse('yaml', ...yamlExports)],
]);

function packageFile(name: string): string {
  return `./packages/${name}.cjs`;
}

function loadingOnUse(name: string, ...exports: readonly string[]): string {
  return gettersOf(packageFile(name), exports);
}

/** A module that loads a file when one of these exports is asked for. */
function gettersOf(file: string, exports: readonly string[]): string {
  const getters = exports.map((key) => `get ${key}() { return require('${file}').${key}; }`);
  return `module.exports = { ${getters.join(', ')} };`;
}

const packagesInFiles: Plugin = {
  name: 'leave the packages in their files',
  setup({ onResolve }) {
    onResolve({ filter: /^\.{1,2}\/packages\// }, ({ path }) => ({ path, external: true }));
  },
};

const loadedOnDemand: readonly Plugin[] = [
  ...[...packagesOnDemand].map(([name, contents]) => replaced(new RegExp(`^${name}$`), contents)),
  packagesInFiles,
];

/** Of prom-client the cluster, pushgateway and summary are left out. */
const metricsAlone = replaced(
  /^prom-client$/,
  `exports.Registry = require('prom-client/lib/registry');
   exports.Counter = require('prom-client/lib/counter');
   exports.Gauge = require('prom-client/lib/gauge');
   exports.Histogram = require('prom-client/lib/histogram');
   exports.collectDefaultMetrics = require('prom-client/lib/defaultMetrics');`,
);

/** The streams of fetch-blob, which node-fetch needs for form data alone. */
const formStreams = replaced(/^\.\/streams\.cjs$/, '');

/**
 * Modules that the agent's libraries load and the agent never uses; without them every agent is some 2 MiB smaller.
 */
export const leftOutOfAgent: readonly Plugin[] = [metricsAlone];

/** Modules that node-fetch loads and no cloud uses, nor what the controller loads on demand. */
export const leftOutOfPackages: readonly Plugin[] = [formStreams];

/** As of packages; a cloud lies in `clouds/`, beside `packages/`. */
export const leftOutOfClouds: readonly Plugin[] = [
  formStreams,
  replaced(/^yaml$/, gettersOf('../packages/yaml.cjs', yamlExports)),
  packagesInFiles,
];

/**
 * Modules that the controller's libraries load and the controller never uses: of client-node the HTTP stacks, proxies
 * and generated clients, of fastify the schema compilers (typebox checks the report's schema), the logger, the test
 * client and HTTP/2.
 */
const unusedByController: readonly Plugin[] = [
  metricsAlone,
  absent(/^undici$/, 'Agent', 'ProxyAgent'),
  absent(/^(socks|socks-proxy-agent|hpagent)$/, 'SocksClient', 'SocksProxyAgent', 'HttpProxyAgent', 'HttpsProxyAgent'),
  absent(
    /^\.\/gen\/index\.js$|^\.\/middleware\.js$/,
    'createConfiguration',
    'ServerConfiguration',
    'setHeaderMiddleware',
  ),
  // One parser is enough.
  replaced(/^js-yaml$/, "exports.load = (text) => require('yaml').parse(text, { merge: true });"),
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

export const leftOutOfController: readonly Plugin[] = [...unusedByController, ...loadedOnDemand];

/** As of the controller, in one file: nothing is loaded on demand. */
export const leftOutOfPlugin: readonly Plugin[] = [...unusedByController, lazily('yaml', ...yamlExports), formStreams];
