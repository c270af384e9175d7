import { defineFlags } from '../../../common/process/flags.ts';

const oneClient = 'one client with bounded connections serves all loops; the API server paces it';
const noCache = 'caches are kept by watches, without resync';
const noProfiling = 'there is no profiling endpoint';
const logs = 'see --log-level and --log-format';
const notHere =
  'not supported; access is decided by TokenReview and SubjectAccessReview of the API server in --kubeconfig';

/**
 * Flags of upstream's controller manager that have no meaning here, so that manifests of upstream work. They are
 * accepted with a warning. Those that guard leader election or access are refused, unless their value is what the
 * controller does anyway.
 */
export const upstreamFlags = defineFlags({
  address: {
    kind: 'string',
    default: '0.0.0.0',
    help: 'Of older upstream versions.',
    ignored: 'there is no insecure port; see --bind-address',
  },
  'allow-metric-labels': { kind: 'repeat', help: 'Upstream.', ignored: 'label values are bounded already' },
  'allow-metric-labels-manifest': {
    kind: 'string',
    default: '',
    help: 'Upstream.',
    ignored: 'label values are bounded already',
  },
  'authentication-kubeconfig': { kind: 'string', default: '', help: 'Upstream.', refused: notHere },
  'authentication-skip-lookup': { kind: 'bool', default: false, help: 'Upstream.', refused: notHere },
  'authentication-tolerate-lookup-failure': { kind: 'bool', default: false, help: 'Upstream.', refused: notHere },
  'authorization-always-allow-paths': {
    kind: 'list',
    default: ['/healthz', '/readyz', '/livez'],
    help: 'Upstream.',
    refused: 'only /healthz, /readyz and /livez, and the checks below them, are served without authorization',
  },
  'authorization-kubeconfig': { kind: 'string', default: '', help: 'Upstream.', refused: notHere },
  'cert-dir': { kind: 'string', default: '', help: 'Upstream.', ignored: 'a self-signed certificate stays in memory' },
  'client-ca-file': { kind: 'string', default: '', help: 'Upstream.', refused: notHere },
  'concurrent-node-status-updates': {
    kind: 'int',
    default: 0,
    help: 'Upstream.',
    ignored: 'see --concurrent-node-syncs',
  },
  'contention-profiling': { kind: 'bool', default: false, help: 'Upstream.', ignored: noProfiling },
  'controller-start-interval': {
    kind: 'duration',
    default: '0',
    help: 'Upstream.',
    ignored: 'all loops start together',
  },
  'disable-http2-serving': { kind: 'bool', default: false, help: 'Upstream.', ignored: 'HTTP/1.1 alone is served' },
  'disabled-metrics': { kind: 'repeat', help: 'Upstream.', ignored: 'all metrics are served' },
  'enable-leader-migration': {
    kind: 'bool',
    default: false,
    help: 'Upstream.',
    refused: 'one Lease excludes every other controller manager: remove this flag',
  },
  'emulated-version': { kind: 'repeat', help: 'Upstream.', ignored: 'there are no feature gates' },
  'external-cloud-volume-plugin': {
    kind: 'string',
    default: '',
    help: 'Upstream.',
    ignored: 'volumes are the matter of CSI drivers, but for --webhooks and persistent-volume-label',
  },
  'feature-gates': { kind: 'repeat', help: 'Upstream.', ignored: 'there are no feature gates' },
  'http2-max-streams-per-connection': {
    kind: 'int',
    default: 0,
    help: 'Upstream.',
    ignored: 'HTTP/1.1 alone is served',
  },
  'kube-api-burst': { kind: 'int', default: 30, help: 'Upstream.', ignored: oneClient },
  'kube-api-content-type': { kind: 'string', default: '', help: 'Upstream.', ignored: 'JSON is used' },
  'kube-api-qps': { kind: 'number', default: 20, help: 'Upstream.', ignored: oneClient },
  'leader-migration-config': {
    kind: 'string',
    default: '',
    help: 'Upstream.',
    refused: 'one Lease excludes every other controller manager: remove this flag',
  },
  'log-flush-frequency': { kind: 'duration', default: '5s', help: 'Upstream.', ignored: logs },
  'log-json-info-buffer-size': { kind: 'string', default: '0', help: 'Upstream.', ignored: logs },
  'log-json-split-stream': { kind: 'bool', default: false, help: 'Upstream.', ignored: logs },
  'log-text-info-buffer-size': { kind: 'string', default: '0', help: 'Upstream.', ignored: logs },
  'log-text-split-stream': { kind: 'bool', default: false, help: 'Upstream.', ignored: logs },
  'logging-format': { kind: 'string', default: 'text', help: 'Upstream.', ignored: logs },
  logtostderr: { kind: 'bool', default: true, help: 'Of older upstream versions.', ignored: logs },
  alsologtostderr: { kind: 'bool', default: false, help: 'Of older upstream versions.', ignored: logs },
  stderrthreshold: { kind: 'string', default: '', help: 'Of older upstream versions.', ignored: logs },
  master: {
    kind: 'string',
    default: '',
    help: 'Upstream.',
    refused: 'not supported; name the API server in --kubeconfig',
  },
  'min-compatibility-version': { kind: 'repeat', help: 'Upstream.', ignored: 'there are no feature gates' },
  'min-resync-period': { kind: 'duration', default: '12h', help: 'Upstream.', ignored: noCache },
  'node-sync-period': { kind: 'duration', default: '0', help: 'Upstream.', ignored: 'it does nothing upstream either' },
  'permit-address-sharing': { kind: 'bool', default: false, help: 'Upstream.', ignored: 'ports are not shared' },
  'permit-port-sharing': { kind: 'bool', default: false, help: 'Upstream.', ignored: 'ports are not shared' },
  port: {
    kind: 'int',
    default: 0,
    help: 'Of older upstream versions.',
    ignored: 'there is no insecure port; see --secure-port',
  },
  profiling: { kind: 'bool', default: true, help: 'Upstream.', ignored: noProfiling },
  'requestheader-allowed-names': { kind: 'list', help: 'Upstream.', refused: notHere },
  'requestheader-client-ca-file': { kind: 'string', default: '', help: 'Upstream.', refused: notHere },
  'requestheader-extra-headers-prefix': {
    kind: 'list',
    default: ['x-remote-extra-'],
    help: 'Upstream.',
    ignored: 'request headers do not authenticate here',
  },
  'requestheader-group-headers': {
    kind: 'list',
    default: ['x-remote-group'],
    help: 'Upstream.',
    ignored: 'request headers do not authenticate here',
  },
  'requestheader-uid-headers': { kind: 'list', help: 'Upstream.', ignored: 'request headers do not authenticate here' },
  'requestheader-username-headers': {
    kind: 'list',
    default: ['x-remote-user'],
    help: 'Upstream.',
    ignored: 'request headers do not authenticate here',
  },
  'show-hidden-metrics-for-version': {
    kind: 'string',
    default: '',
    help: 'Upstream.',
    ignored: 'there are no hidden metrics',
  },
  'tls-sni-cert-key': { kind: 'repeat', help: 'Upstream.', ignored: 'one certificate is served' },
  'use-service-account-credentials': {
    kind: 'bool',
    default: false,
    help: 'Upstream.',
    ignored: 'all loops use the one ServiceAccount',
  },
  vmodule: { kind: 'string', default: '', help: 'Upstream.', ignored: logs },
  'webhook-cert-dir': {
    kind: 'string',
    default: '',
    help: 'Upstream.',
    ignored: 'see --webhook-tls-cert-file',
  },
  'webhook-disable-http2-serving': {
    kind: 'bool',
    default: false,
    help: 'Upstream.',
    ignored: 'HTTP/1.1 alone is served',
  },
  'webhook-tls-sni-cert-key': { kind: 'repeat', help: 'Upstream.', ignored: 'one certificate is served' },
});
