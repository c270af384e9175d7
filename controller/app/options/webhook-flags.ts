import { defineFlags, type FlagValues } from '../../../common/process/flags.ts';
import { cipherSuites, curveNames, type TlsPolicy, tlsPolicy, tlsVersions } from '../../runtime/serving/tls-policy.ts';
import { ofIpAddress } from './expectations.ts';

/** The webhooks that `--webhooks` switches, by name. */
export const webhookNames = { volumes: 'persistentvolumelabel' } as const;

/** Flags of `run` about admission webhooks. Names and defaults are upstream's. */
export const webhookFlags = defineFlags({
  webhooks: {
    kind: 'list',
    help:
      `Admission webhooks to serve: ${webhookNames.volumes} gives zone and region to PersistentVolumes that are ` +
      "created; '*' for all, -NAME to leave out. Empty: none.",
    check: (text) =>
      text
        .split(',')
        .map(faultOf)
        .find((fault) => fault !== undefined),
  },
  'webhook-bind-address': {
    kind: 'string',
    default: '0.0.0.0',
    help: 'Address of --webhook-secure-port.',
    check: ofIpAddress,
  },
  'webhook-secure-port': {
    kind: 'int',
    default: 10260,
    min: 0,
    max: 65535,
    help: 'HTTPS port of the webhooks; 0: off.',
  },
  'webhook-tls-cert-file': {
    kind: 'string',
    default: '',
    help: 'Certificate of --webhook-secure-port; empty: that of the report API.',
  },
  'webhook-tls-private-key-file': { kind: 'string', default: '', help: 'Key of --webhook-tls-cert-file.' },
  'webhook-tls-min-version': {
    kind: 'string',
    default: '',
    choices: ['', ...tlsVersions],
    help: 'As --tls-min-version, for --webhook-secure-port.',
  },
  'webhook-tls-cipher-suites': {
    kind: 'list',
    choices: cipherSuites,
    help: 'As --tls-cipher-suites, for --webhook-secure-port.',
  },
  'webhook-tls-curve-preferences': {
    kind: 'list',
    choices: curveNames,
    help: 'As --tls-curve-preferences, for --webhook-secure-port.',
  },
});

type Values = FlagValues<typeof webhookFlags>;

function faultOf(text: string): string | undefined {
  const name = text.replace(/^-/, '');
  const names: readonly string[] = Object.values(webhookNames);
  return text === '' || text === '*' || names.includes(name) ? undefined : `* or one of ${names.join(', ')}`;
}

/** As upstream reads such lists: the first explicit NAME or -NAME wins; otherwise it is served if `*` is given. */
export function servesWebhook(given: readonly string[], name: string): boolean {
  const explicit = given.find((text) => text.replace(/^-/, '') === name);
  return explicit === undefined ? given.includes('*') : explicit === name;
}

export function readWebhookTls(values: Values): TlsPolicy {
  return tlsPolicy({
    minVersion: values.webhookTlsMinVersion,
    suites: values.webhookTlsCipherSuites,
    curves: values.webhookTlsCurvePreferences,
  });
}
