import { evidenceKinds } from '../../../common/attestation.ts';
import { defineFlags, pickFlags } from '../../../common/process/flags.ts';
import { names } from '../../../common/well-known.ts';
import {
  ofAudience,
  ofBudget,
  ofCloudModule,
  ofIpAddress,
  ofObjectName,
  ofReachableHost,
  ofSecurityGroups,
  ofSelector,
  ofTagLabelRules,
  ofTrust,
} from './expectations.ts';
import { leftOutNames } from './loops.ts';

/** The value of `--require-attestation` and `--bind-by-name` for every cloud served. */
export const allClouds = 'all';

/** Flags of the commands that decide about Nodes: cluster, clouds, logging. */
export const commonFlags = defineFlags({
  kubeconfig: {
    kind: 'string',
    default: '',
    help:
      'Kubeconfig file. Empty: the files of the variable KUBECONFIG, else in a pod its service account, else ' +
      '~/.kube/config.',
  },
  'mooring-namespace': {
    kind: 'string',
    default: '',
    help:
      'Namespace that Mooring is installed in, with the objects that its manifests ship. Empty: in a pod its own, ' +
      `else ${names.namespace}.`,
    check: (text) => (text === '' ? undefined : ofObjectName(text)),
  },
  'cloud-provider': {
    kind: 'repeat',
    help:
      'Name of a cloud to serve. Repeatable: several clouds in one cluster, or one cloud several times with a ' +
      '--cloud-config each. The name that its classic controller uses is taken, too (hcloud).',
  },
  'cloud-module': {
    kind: 'repeat',
    help:
      'A cloud that is no part of Mooring, NAME=PATH: the file of its module, or the folder of its package. ' +
      '--cloud-provider=NAME then serves it. The module runs with the rights of this process. Repeatable.',
    check: ofCloudModule,
  },
  'cloud-config': {
    kind: 'repeat',
    help:
      "Configuration file of a cloud, in the format of the cloud's own controller: FILE with one cloud, " +
      'NAME=FILE with several. Repeatable.',
  },
  'node-selector': {
    kind: 'repeat',
    help:
      'Label selector of the nodes without providerID that belong to a cloud: SELECTOR with one cloud, ' +
      'NAME=SELECTOR with several. Repeatable.',
    check: ofSelector,
  },
  'bind-by-name': {
    kind: 'list',
    bare: allClouds,
    help:
      'Clouds whose Nodes without providerID and report are bound to the only instance of their name, although ' +
      'no SMBIOS UUID confirms it; without a value: all clouds. A UUID that contradicts is refused all the ' +
      'same.',
  },
  'node-labels-from-tags': {
    kind: 'list',
    default: [],
    help:
      'Tags of VMs that become labels of their Nodes, as TAGPREFIX=DOMAIN/: with k8s-label/=example.com/ the tag ' +
      'k8s-label/team becomes the label example.com/team. It follows its tag and goes with it; a label that another ' +
      'client has set stays. The tags come from the API of the cloud, never from a report.',
    check: ofTagLabelRules,
  },
  'allow-untagged-cloud': {
    kind: 'bool',
    default: false,
    help:
      'Serve a cloud without the tag that identifies the cluster, where the cloud needs one (aws: a cluster ' +
      "tag). Then every resource in its network counts as this cluster's.",
  },
  'require-attestation': {
    kind: 'repeat',
    bare: allClouds,
    choices: [allClouds, ...Object.keys(evidenceKinds)],
    help:
      'A node of this cloud is initialised, and joins load balancers, only once a signed document of its VM ' +
      'proves which instance it is. Without a value or with `all`: every cloud served that signs such ' +
      'documents. Repeatable. Nodes that are initialised already stay so.',
  },
  'allowed-security-groups': {
    kind: 'list',
    help:
      'Ids of security groups that Services may name in their annotations without a consent tag on the group ' +
      '(aws). Separated by commas.',
    check: ofSecurityGroups,
  },
  'log-level': {
    kind: 'string',
    default: 'info',
    choices: ['debug', 'info', 'warn', 'error'],
    help: 'Least severe lines to log.',
  },
  'log-format': { kind: 'string', default: 'text', choices: ['json', 'text'], help: 'Form of the log lines.' },
  v: { kind: 'int', short: 'v', default: 0, help: "Upstream's verbosity: 4 and above mean --log-level=debug." },
});

/** Flags of the commands that read the cluster alone. */
export const readingFlags = pickFlags(
  commonFlags,
  ...(['kubeconfig', 'mooring-namespace', 'cloud-module', 'log-level', 'log-format', 'v'] as const),
);

/** Flags of the commands that call clouds. */
export const cloudFlags = {
  ...readingFlags,
  ...pickFlags(commonFlags, 'cloud-provider', 'cloud-config', 'allow-untagged-cloud'),
};

/** Flags of `run` that have an effect. Names and meanings are upstream's where upstream has them. */
export const runFlags = defineFlags({
  controllers: {
    kind: 'list',
    default: ['*'],
    help:
      `Loops to run: '*' for all but ${leftOutNames.join(', ')}; NAME to add, -NAME to leave out, by ` +
      "upstream's names and aliases.",
  },
  'report-address': {
    kind: 'string',
    default: `:${names.reportPort}`,
    help: 'Address of the report API for agents, HTTPS.',
  },
  'report-advertise-address': {
    kind: 'string',
    default: '',
    help: 'Address at which agents reach this replica; empty: the address of the default route.',
    check: ofReachableHost,
  },
  'report-audience': {
    kind: 'string',
    default: names.audience,
    help: "Audience that an agent's token must have.",
    check: ofAudience,
  },
  'report-tls-cert-file': {
    kind: 'string',
    default: '',
    help: 'Certificate for reports; empty: self-managed, see Secret mooring-ca.',
  },
  'report-tls-private-key-file': { kind: 'string', default: '', help: 'Key of --report-tls-cert-file.' },
  'agent-service-account': {
    kind: 'string',
    default: `${names.namespace}:${names.agent}`,
    help: 'ServiceAccount of the agents, NAMESPACE:NAME.',
    check: (text) => (/^[a-z0-9-]+:[a-z0-9.-]+$/.test(text) ? undefined : 'NAMESPACE:NAME'),
  },
  'attestation-trust': {
    kind: 'repeat',
    help:
      'What signs the documents that prove which VM a node is, NAME=FILE, instead of what is shipped or ' +
      'published: aws=FILE or aws/REGION=FILE (certificates), azure=FILE (roots and intermediates), gce=FILE ' +
      '(a JSON Web Key Set), simulated=FILE (an Ed25519 public key). Repeatable.',
    check: ofTrust,
  },
  'secure-port': {
    kind: 'int',
    default: 10258,
    min: 0,
    max: 65535,
    help: 'HTTPS port of health, metrics and configz; 0: off.',
  },
  'bind-address': { kind: 'string', default: '0.0.0.0', help: 'Address of --secure-port.', check: ofIpAddress },
  'tls-cert-file': {
    kind: 'string',
    default: '',
    help: 'Certificate of --secure-port; empty: self-signed, in memory.',
  },
  'tls-private-key-file': { kind: 'string', default: '', help: 'Key of --tls-cert-file.' },
  'leader-elect': { kind: 'bool', default: true, help: 'Act only while holding the Lease.' },
  'leader-elect-lease-duration': {
    kind: 'duration',
    default: '15s',
    help: 'How long a silent leader keeps the Lease.',
    min: 1000,
  },
  'leader-elect-renew-deadline': {
    kind: 'duration',
    default: '10s',
    help: 'How long the leader tries to renew before it stops acting.',
    min: 100,
  },
  'leader-elect-retry-period': {
    kind: 'duration',
    default: '2s',
    help: 'Time between tries to take or renew the Lease.',
    min: 100,
  },
  'leader-elect-resource-name': {
    kind: 'string',
    default: names.lease,
    help: 'Name of the Lease.',
    check: ofObjectName,
  },
  'leader-elect-resource-namespace': {
    kind: 'string',
    default: names.namespace,
    help: 'Namespace of the Lease.',
    check: ofObjectName,
  },
  'leader-elect-resource-lock': { kind: 'string', default: 'leases', choices: ['leases'], help: 'Kind of the lock.' },
  'node-monitor-period': {
    kind: 'duration',
    default: '5s',
    help: 'Time between lookups of nodes whose VM may be gone or powered off.',
    min: 100,
  },
  'node-status-update-frequency': {
    kind: 'duration',
    default: '5m',
    help: 'How often every instance is read again.',
    min: 1000,
  },
  'concurrent-node-syncs': { kind: 'int', default: 32, min: 1, max: 1000, help: 'Nodes written at once.' },
  'node-deletion-budget': {
    kind: 'string',
    default: '10%/10m',
    help:
      'How many Nodes may be deleted for an unexpected absence of their VM, as a share of the owned nodes or a ' +
      'count, within a moving window; at least one.',
    check: ofBudget,
  },
  'announced-deletion-budget': {
    kind: 'string',
    default: '50%/10m',
    help:
      'The same for Nodes whose VM disappeared after its cloud had announced its end (a preemption or ' +
      'termination within the hour).',
    check: ofBudget,
  },
  'out-of-service-taint': {
    kind: 'bool',
    default: false,
    help:
      'Also taint nodes whose VM is certainly powered off with node.kubernetes.io/out-of-service, so that ' +
      'their volumes detach at once.',
  },
  'interruption-taint': {
    kind: 'bool',
    default: false,
    help:
      'Also taint nodes whose VM the cloud has announced to end within the hour with ' +
      'mooring.dev/interruption:NoSchedule.',
  },
  'dry-run': {
    kind: 'bool',
    default: false,
    help: 'Log each change that would be made, and make none: neither take the Lease nor accept reports.',
  },
  'reports-url': {
    kind: 'string',
    default: '',
    help:
      'Where plan and --dry-run, to which no agent reports, read the reports that the leader has: ' +
      'https://127.0.0.1:PORT/reports, the end of a kubectl port-forward. Empty: no reports are read.',
  },
  'reports-token-file': {
    kind: 'string',
    default: '',
    help: 'File with the token of an account that may get /reports.',
  },
});
