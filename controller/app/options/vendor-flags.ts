import { defineFlags } from '../../../common/process/flags.ts';
import { taggingFlags } from './tagging-options.ts';

const of = (cloud: string) => `Of the classic controller of ${cloud}.`;
const noLease = 'name the Lease in --leader-elect-resource-name and -namespace: all controllers of a cluster share it';
const ownBatches = 'a call takes as many as the API of the cloud does';
const noPlainPort = 'there is no insecure port; see --secure-port and --bind-address';
const byProviderID = 'Nodes are told apart by their providerID, and those without by --node-selector';
const noDenials =
  'no rule denies traffic: let the classic controller remove those it made, with ' +
  '--enable-l4-deny-firewall-rollback-cleanup alone, then remove this flag';
const ownRules = 'see the annotations of Services that choose the kind of load balancer';

/**
 * Flags that the classic controller of one cloud has beside upstream's, so that its manifest can be moved over. Those
 * without the same meaning here are accepted with a warning, or refused where the result would differ from what is
 * asked for.
 */
export const vendorFlags = {
  ...taggingFlags,
  ...defineFlags({
    'cloud-config-key': {
      kind: 'string',
      default: '',
      help: of('azure'),
      refused: 'mount the Secret and name its file in --cloud-config',
    },
    'cloud-config-secret-name': {
      kind: 'string',
      default: '',
      help: of('azure'),
      refused: 'mount the Secret and name its file in --cloud-config',
    },
    'cloud-config-secret-namespace': {
      kind: 'string',
      default: '',
      help: of('azure'),
      refused: 'mount the Secret and name its file in --cloud-config',
    },
    'cloud-provider-gce-l7lb-src-cidrs': {
      kind: 'list',
      help: of('gce'),
      refused: "the ranges are those of the vendor's health checks: remove this flag",
    },
    'cloud-provider-gce-lb-src-cidrs': {
      kind: 'list',
      help: of('gce'),
      refused: "the ranges are those of the vendor's health checks: remove this flag",
    },
    'enable-dynamic-reloading': {
      kind: 'bool',
      default: false,
      help: of('azure'),
      ignored: 'the file of --cloud-config is always read again when it changes',
    },
    'enable-gke-tenant-controller': {
      kind: 'bool',
      default: false,
      help: of('gce'),
      refused: 'several projects are several --cloud-config files',
    },
    'enable-l4-deny-firewall': {
      kind: 'bool',
      default: false,
      help: of('gce'),
      refused: noDenials,
    },
    'enable-l4-deny-firewall-rollback-cleanup': {
      kind: 'bool',
      default: false,
      help: of('gce'),
      refused: noDenials,
    },
    'enable-l4-ilb-fine-grained-lock': {
      kind: 'bool',
      default: false,
      help: of('gce'),
      ignored: 'Services do not wait for one another',
    },
    'enable-l4-lb-annotations': {
      kind: 'bool',
      default: false,
      help: of('gce'),
      ignored: 'explain names the resources',
    },
    'enable-multi-project': {
      kind: 'bool',
      default: false,
      help: of('gce'),
      refused: 'several projects are several --cloud-config files',
    },
    'enable-rbs-default-l4-netlb': { kind: 'bool', default: false, help: of('gce'), refused: ownRules },
    'enable-imdsv2': {
      kind: 'bool',
      default: true,
      help: of('alibaba'),
      ignored: 'the metadata service is asked with a token, and without one where it has none',
    },
    'enable-leader-election': { kind: 'bool', default: true, help: of('alibaba'), refused: 'see --leader-elect' },
    'enable-node-filtering': { kind: 'bool', default: false, help: of('azure'), refused: byProviderID },
    'health-probe-bind-addr': { kind: 'string', default: '', help: of('alibaba'), ignored: noPlainPort },
    'leader-election-id': { kind: 'string', default: '', help: of('alibaba'), refused: noLease },
    'leader-election-namespace': { kind: 'string', default: '', help: of('alibaba'), refused: noLease },
    'leader-election-resource-lock': { kind: 'string', default: '', help: of('alibaba'), refused: noLease },
    'max-concurrent-actions': { kind: 'int', default: 10, help: of('alibaba'), ignored: ownBatches },
    'max-throttling-retry-times': {
      kind: 'int',
      default: 10,
      help: of('alibaba'),
      ignored: 'what is throttled waits as long as the cloud asks for',
    },
    'metrics-bind-addr': { kind: 'string', default: '', help: of('alibaba'), ignored: noPlainPort },
    network: {
      kind: 'string',
      default: 'vpc',
      help: of('alibaba'),
      refused: 'the variable ALIBABA_CLOUD_NETWORK chooses the endpoints',
    },
    'node-event-aggregation-wait-seconds': {
      kind: 'int',
      default: 1,
      help: of('alibaba'),
      ignored: 'changes of Nodes are collected anyway',
    },
    'node-exclude-labels': { kind: 'string', default: '', help: of('azure'), refused: byProviderID },
    'node-label-selector': { kind: 'string', default: '', help: of('azure'), refused: byProviderID },
    'node-labels': {
      kind: 'string',
      default: '',
      help: of('vsphere'),
      refused: 'give them to the kubelet in its own --node-labels',
    },
    'node-reconcile-batch-size': { kind: 'int', default: 100, help: of('alibaba'), ignored: ownBatches },
    'route-reconcile-batch-size': { kind: 'int', default: 50, help: of('alibaba'), ignored: ownBatches },
    'sg-batch-size': { kind: 'int', default: 40, help: of('alibaba'), ignored: ownBatches },
    'skip-disable-source-dest-check': {
      kind: 'bool',
      default: false,
      help: of('alibaba'),
      ignored: 'the check of source and destination of network interfaces is always left alone',
    },
    'sync-period': {
      kind: 'duration',
      default: '60m',
      help: of('alibaba'),
      ignored: 'caches are kept by watches, without resync',
    },
    'user-agent': { kind: 'repeat', help: of('openstack'), ignored: 'the User-Agent names Mooring' },
  }),
};
