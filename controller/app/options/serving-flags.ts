import { defineFlags, type FlagValues } from '../../../common/process/flags.ts';
import type { AccessTimes } from '../../runtime/serving/path-access.ts';
import { cipherSuites, curveNames, type TlsPolicy, tlsPolicy, tlsVersions } from '../../runtime/serving/tls-policy.ts';

const mostKeptMs = 600_000;

/** Flags of `run` about the TLS of its ports and the cache of verdicts. Names and values are upstream's. */
export const servingFlags = defineFlags({
  'tls-min-version': {
    kind: 'string',
    default: '',
    choices: ['', ...tlsVersions],
    help:
      'Oldest version of TLS on --secure-port and --report-address; empty, VersionTLS10 and VersionTLS11 mean ' +
      'VersionTLS12.',
  },
  'tls-cipher-suites': {
    kind: 'list',
    choices: cipherSuites,
    help:
      "Cipher suites on --secure-port and --report-address, by Go's names; empty: those with forward secrecy " +
      'and authenticated encryption. Suites of TLS 1.3 are served always.',
  },
  'tls-curve-preferences': {
    kind: 'list',
    choices: curveNames,
    help: "Key exchanges on --secure-port and --report-address, by Go's names or numbers; empty: the runtime's.",
  },
  'authentication-token-webhook-cache-ttl': {
    kind: 'duration',
    default: '10s',
    min: 0,
    max: mostKeptMs,
    help: 'How long the review of a token for --secure-port is cached.',
  },
  'authorization-webhook-cache-authorized-ttl': {
    kind: 'duration',
    default: '10s',
    min: 0,
    max: mostKeptMs,
    help: 'How long the permission of a user to read a path of --secure-port is cached.',
  },
  'authorization-webhook-cache-unauthorized-ttl': {
    kind: 'duration',
    default: '10s',
    min: 0,
    max: mostKeptMs,
    help: 'How long the refusal of a user to read a path of --secure-port is cached.',
  },
});

type Values = FlagValues<typeof servingFlags>;

export function readTlsPolicy(values: Values): TlsPolicy {
  return tlsPolicy({
    minVersion: values.tlsMinVersion,
    suites: values.tlsCipherSuites,
    curves: values.tlsCurvePreferences,
  });
}

export function readAccessTimes(values: Values): AccessTimes {
  return {
    tokenMs: values.authenticationTokenWebhookCacheTtl,
    authorizedMs: values.authorizationWebhookCacheAuthorizedTtl,
    unauthorizedMs: values.authorizationWebhookCacheUnauthorizedTtl,
  };
}
