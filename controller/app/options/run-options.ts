import { readFile } from 'node:fs/promises';
import { formatDuration } from '../../../common/process/duration.ts';
import type { FlagValues } from '../../../common/process/flags.ts';
import { type Budget, parseBudget } from '../../model/deletion-budget.ts';
import { parseTagLabelRule, type TagLabelRule } from '../../model/tag-labels.ts';
import type { Trust } from '../../reports/attestation/trust.ts';
import { type CredentialFiles, readCredentialFiles } from '../../runtime/serving/credential-files.ts';
import { type ListenAddress, parseListenAddress } from '../../runtime/serving/listen-address.ts';
import type { TlsPolicy } from '../../runtime/serving/tls-policy.ts';
import { defaultRouteAddress, reportUrl, systemAddresses } from '../advertise.ts';
import { type ReadReports, reportsAt } from '../follow-reports.ts';
import type { SecureOptions } from '../serve-securely.ts';
import type { WebhookOptions } from '../serve-webhooks.ts';
import { type Loops, parseLoops } from './loops.ts';
import type { clusterFlags, networkFlags } from './network-flags.ts';
import { type NetworkOptions, readNetworkOptions } from './network-options.ts';
import { type CloudRequest, OptionError, readCloudRequests } from './options.ts';
import type { commonFlags, runFlags } from './own-flags.ts';
import { readAccessTimes, readTlsPolicy, type servingFlags } from './serving-flags.ts';
import type { taggingFlags } from './tagging-options.ts';
import { readTrustFiles } from './trust-files.ts';
import { readWebhookTls, servesWebhook, type webhookFlags, webhookNames } from './webhook-flags.ts';

/** The options of `run` on which its decisions depend. */
export interface DecisionOptions {
  readonly kubeconfig: string;
  /** As given; empty: see installedIn. */
  readonly mooringNamespace: string;
  readonly clouds: readonly CloudRequest[];
  readonly loops: Loops;
  readonly lease: {
    readonly elect: boolean;
    readonly namespace: string;
    readonly name: string;
    readonly durationMs: number;
    readonly renewDeadlineMs: number;
    readonly retryPeriodMs: number;
  };
  readonly monitorPeriodMs: number;
  readonly statusUpdateMs: number;
  readonly concurrentNodeSyncs: number;
  readonly deletionBudget: Budget;
  readonly announcedDeletionBudget: Budget;
  readonly outOfServiceTaint: boolean;
  readonly interruptionTaint: boolean;
  /** `--node-labels-from-tags`. */
  readonly tagLabels: readonly TagLabelRule[];
  readonly network: NetworkOptions;
  /** `--reports-url`: where a plan or dry run reads reports. Undefined: nowhere. */
  readonly readReports: ReadReports | undefined;
}

/** All options of `run`, validated. */
export interface RunOptions extends DecisionOptions {
  readonly reportUrl: string;
  readonly reports: {
    readonly address: ListenAddress;
    readonly audience: string;
    readonly serviceAccount: { readonly namespace: string; readonly name: string };
    readonly files: CredentialFiles | undefined;
    readonly tls: TlsPolicy;
  };
  /** The keys and certificates that the evidence of agents is verified with. */
  readonly trust: Trust;
  readonly secure: SecureOptions;
  /** Undefined: none is served. */
  readonly webhooks: WebhookOptions | undefined;
  readonly dryRun: boolean;
  /** The flags as given, for `/configz`. */
  readonly shown: unknown;
}

type Values = FlagValues<typeof commonFlags> &
  FlagValues<typeof runFlags> &
  FlagValues<typeof servingFlags> &
  FlagValues<typeof webhookFlags> &
  FlagValues<typeof clusterFlags> &
  FlagValues<typeof networkFlags> &
  FlagValues<typeof taggingFlags>;

/** Throws an OptionError that names the flag. */
export function readLoops(given: readonly string[]): Loops {
  const loops = parseLoops(given);
  const wrong = (expected: string) =>
    new OptionError(`--controllers: ${JSON.stringify(given.join(','))}, expected ${expected}`);
  if ('expected' in loops) throw wrong(loops.expected);
  // A leader without loops would keep the other replicas from acting.
  if (!Object.values(loops).includes(true)) throw wrong("at least one loop that runs here, such as '*'");
  return loops;
}

/** Reads no file but those of the clouds. Throws an OptionError that names the flag. */
export async function readDecisionOptions(values: Values): Promise<DecisionOptions> {
  const loops = readLoops(values.controllers);
  return {
    kubeconfig: values.kubeconfig,
    mooringNamespace: values.mooringNamespace,
    clouds: await readCloudRequests(values),
    loops,
    lease: leaseOptions(values),
    monitorPeriodMs: values.nodeMonitorPeriod,
    statusUpdateMs: values.nodeStatusUpdateFrequency,
    concurrentNodeSyncs: values.concurrentNodeSyncs,
    deletionBudget: budgetOf('node-deletion-budget', values.nodeDeletionBudget),
    announcedDeletionBudget: budgetOf('announced-deletion-budget', values.announcedDeletionBudget),
    outOfServiceTaint: values.outOfServiceTaint,
    interruptionTaint: values.interruptionTaint,
    tagLabels: values.nodeLabelsFromTags.map((text) => parseTagLabelRule(text)!),
    network: readNetworkOptions(values, loops),
    readReports: reportsAt(values.reportsUrl, values.reportsTokenFile),
  };
}

/** Throws an OptionError that names the flag. */
export async function readRunOptions(values: Values): Promise<RunOptions> {
  const address = listenAddress(values.reportAddress);
  if (values.reportsUrl !== '' && !values.dryRun)
    throw new OptionError(`--reports-url: ${JSON.stringify(values.reportsUrl)}, expected --dry-run beside it`);
  const tls = readTlsPolicy(values);
  const [namespace = '', name = ''] = values.agentServiceAccount.split(':');
  return {
    ...(await readDecisionOptions(values)),
    reportUrl: reportUrl(values.reportAdvertiseAddress || defaultRouteAddress(systemAddresses()), address.port),
    reports: {
      address,
      audience: values.reportAudience,
      serviceAccount: { namespace, name },
      files: await pair(
        'report-tls-cert-file',
        values.reportTlsCertFile,
        'report-tls-private-key-file',
        values.reportTlsPrivateKeyFile,
      ),
      tls,
    },
    trust: await readTrustFiles(values.attestationTrust),
    secure: {
      host: values.bindAddress,
      port: values.securePort,
      files: await pair('tls-cert-file', values.tlsCertFile, 'tls-private-key-file', values.tlsPrivateKeyFile),
      tls,
      accessTimes: readAccessTimes(values),
    },
    webhooks: await webhookOptions(values, address.port),
    dryRun: values.dryRun,
    shown: values,
  };
}

async function webhookOptions(values: Values, reportPort: number): Promise<WebhookOptions | undefined> {
  const port = values.webhookSecurePort;
  const files = await pair(
    'webhook-tls-cert-file',
    values.webhookTlsCertFile,
    'webhook-tls-private-key-file',
    values.webhookTlsPrivateKeyFile,
  );
  if (!servesWebhook(values.webhooks, webhookNames.volumes) || port === 0) return undefined;
  for (const [flag, other] of [
    ['--secure-port', values.securePort],
    ['--report-address', reportPort],
  ] as const)
    if (port === other) throw new OptionError(`--webhook-secure-port: "${port}", expected another port than ${flag}`);
  return { host: values.webhookBindAddress, port, files, tls: readWebhookTls(values) };
}

function budgetOf(flag: string, text: string): Budget {
  const budget = parseBudget(text);
  if ('expected' in budget) throw new OptionError(`--${flag}: ${JSON.stringify(text)}, expected ${budget.expected}`);
  return budget;
}

function listenAddress(text: string): ListenAddress {
  let address: ListenAddress;
  try {
    address = parseListenAddress(text);
  } catch (error) {
    throw new OptionError(`--report-address: ${error instanceof Error ? error.message : error}`);
  }
  if (address.port === 0) throw new OptionError('--report-address: port 0, expected a port that agents can be told');
  return address;
}

/** The files are read once here, so that a wrong path fails the start and not only the report API. */
async function pair(
  certFlag: string,
  certFile: string,
  keyFlag: string,
  keyFile: string,
): Promise<CredentialFiles | undefined> {
  if (certFile === '' && keyFile === '') return undefined;
  const given = [certFlag, keyFlag].filter((_, at) => [certFile, keyFile][at] !== '');
  if (given.length === 1) {
    const missing = given[0] === certFlag ? keyFlag : certFlag;
    throw new OptionError(`--${given[0]}: ${JSON.stringify(certFile || keyFile)}, expected --${missing} beside it`);
  }
  try {
    await readCredentialFiles({ certFile, keyFile }, (path) => readFile(path, 'utf8'));
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    const named = `--${certFlag}: ${JSON.stringify(certFile)}, --${keyFlag}: ${JSON.stringify(keyFile)}`;
    throw new OptionError(`${named}, expected a certificate and its key in PEM: ${why}`);
  }
  return { certFile, keyFile };
}

function leaseOptions(values: Values): RunOptions['lease'] {
  const { leaderElectLeaseDuration: lease, leaderElectRenewDeadline: renew, leaderElectRetryPeriod: retry } = values;
  const wrong = (flag: string, ms: number, expected: string) =>
    new OptionError(`--leader-elect-${flag}: ${JSON.stringify(formatDuration(ms))}, expected ${expected}`);
  if (lease % 1000 !== 0) throw wrong('lease-duration', lease, 'whole seconds');
  if (renew >= lease)
    throw wrong('renew-deadline', renew, `less than --leader-elect-lease-duration (${formatDuration(lease)})`);
  if (retry >= renew)
    throw wrong('retry-period', retry, `less than --leader-elect-renew-deadline (${formatDuration(renew)})`);
  return {
    elect: values.leaderElect,
    namespace: values.leaderElectResourceNamespace,
    name: values.leaderElectResourceName,
    durationMs: lease,
    renewDeadlineMs: renew,
    retryPeriodMs: retry,
  };
}
