import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { FlagDefinition } from '../../../common/process/flags.ts';
import { parseFlags } from '../../../common/process/flags.ts';
import { runCommandFlags } from '../../commands/run-command.ts';

const flags: Readonly<Record<string, FlagDefinition>> = runCommandFlags;

/** Every flag of Kubernetes' cloud-controller-manager 1.36, by the group that its help has it in. */
const upstream: Readonly<Record<string, string>> = {
  misc: 'master kubeconfig node-status-update-frequency',
  generic:
    'min-resync-period kube-api-qps kube-api-burst kube-api-content-type controller-start-interval controllers ' +
    'feature-gates',
  'leader election':
    'leader-elect leader-elect-lease-duration leader-elect-renew-deadline leader-elect-retry-period ' +
    'leader-elect-resource-lock leader-elect-resource-name leader-elect-resource-namespace',
  'leader migration': 'enable-leader-migration leader-migration-config',
  cloud:
    'cloud-provider cloud-config external-cloud-volume-plugin use-service-account-credentials allow-untagged-cloud ' +
    'route-reconciliation-period node-monitor-period cluster-name cluster-cidr allocate-node-cidrs ' +
    'cidr-allocator-type configure-cloud-routes node-sync-period',
  'node and service': 'concurrent-node-syncs concurrent-node-status-updates concurrent-service-syncs',
  'node ipam': 'service-cluster-ip-range node-cidr-mask-size node-cidr-mask-size-ipv4 node-cidr-mask-size-ipv6',
  webhook: 'webhooks',
  'webhook serving':
    'webhook-bind-address webhook-secure-port webhook-cert-dir webhook-tls-cert-file webhook-tls-private-key-file ' +
    'webhook-tls-cipher-suites webhook-tls-curve-preferences webhook-tls-min-version webhook-tls-sni-cert-key ' +
    'webhook-disable-http2-serving',
  'secure serving':
    'bind-address secure-port cert-dir tls-cert-file tls-private-key-file tls-cipher-suites tls-curve-preferences ' +
    'tls-min-version tls-sni-cert-key http2-max-streams-per-connection disable-http2-serving permit-port-sharing ' +
    'permit-address-sharing',
  authentication:
    'authentication-kubeconfig authentication-skip-lookup authentication-tolerate-lookup-failure ' +
    'authentication-token-webhook-cache-ttl client-ca-file requestheader-client-ca-file ' +
    'requestheader-allowed-names requestheader-username-headers requestheader-group-headers ' +
    'requestheader-extra-headers-prefix requestheader-uid-headers',
  authorization:
    'authorization-kubeconfig authorization-always-allow-paths authorization-webhook-cache-authorized-ttl ' +
    'authorization-webhook-cache-unauthorized-ttl',
  debugging: 'profiling contention-profiling',
  logs:
    'v vmodule logging-format log-flush-frequency log-text-split-stream log-text-info-buffer-size ' +
    'log-json-split-stream log-json-info-buffer-size',
  metrics: 'allow-metric-labels allow-metric-labels-manifest disabled-metrics show-hidden-metrics-for-version',
};

/** What one classic controller has beside those. Those of the others are upstream's alone. */
const classic: Readonly<Record<string, string>> = {
  alibaba:
    'skip-disable-source-dest-check node-event-aggregation-wait-seconds max-throttling-retry-times sg-batch-size ' +
    'network max-concurrent-actions enable-imdsv2 node-reconcile-batch-size route-reconcile-batch-size ' +
    'metrics-bind-addr health-probe-bind-addr enable-leader-election leader-election-id leader-election-namespace ' +
    'leader-election-resource-lock sync-period dry-run',
  aws:
    'tags resources tagging-controller-rate-limit tagging-controller-burst-limit ' +
    'tagging-controller-concurrent-node-syncs tagging-controller-enable-batching',
  azure:
    'enable-dynamic-reloading cloud-config-secret-name cloud-config-secret-namespace cloud-config-key ' +
    'enable-node-filtering node-label-selector node-exclude-labels',
  gce:
    'enable-multi-project enable-rbs-default-l4-netlb enable-l4-lb-annotations enable-l4-deny-firewall ' +
    'enable-l4-deny-firewall-rollback-cleanup enable-l4-ilb-fine-grained-lock enable-gke-tenant-controller ' +
    'cloud-provider-gce-lb-src-cidrs cloud-provider-gce-l7lb-src-cidrs',
  openstack: 'user-agent',
  vsphere: 'node-labels',
};

const rows = [...Object.entries(upstream), ...Object.entries(classic)].flatMap(([of, names]) =>
  names.split(' ').map((name) => ({ of, name })),
);

/** A value that the kind of the flag takes, and that is not its default. */
function other(name: string): string {
  const { kind, default: standard } = flags[name]!;
  if (kind === 'bool') return String(standard !== true);
  if (kind === 'duration') return '7m';
  return kind === 'int' || kind === 'number' ? '7' : 'x=y';
}

describe('a flag of upstream or of a classic controller', () => {
  for (const { of, name } of rows) {
    it(`uses --${name} (${of}), accepts it with a warning, or refuses it by its name`, () => {
      const flag = flags[name];
      assert.ok(flag, 'it is not known');
      assert.ok(!(flag.ignored !== undefined && flag.refused !== undefined));
      if (flag.ignored === undefined && flag.refused === undefined) return;
      const parsed = parseFlags(runCommandFlags, ['--cloud-provider=simulated', `--${name}=${other(name)}`]);
      const why = flag.ignored ?? flag.refused ?? '';
      const said = parsed.ok ? parsed.warnings.join() : parsed.message;
      assert.equal(parsed.ok, flag.ignored !== undefined);
      assert.ok(said.startsWith(`--${name}`) && said.includes(why), said);
    });
  }

  it('stands in the tables above where the flag is not ours', () => {
    const named = new Set(rows.map(({ name }) => name));
    const theirs = Object.entries(flags).filter(([, { help }]) => /^Upstream\.$|^Of the classic controller/.test(help));
    assert.deepEqual(
      theirs.map(([name]) => name).filter((name) => !named.has(name) && !/^(emulated|min-compat)/.test(name)),
      [],
    );
  });
});
