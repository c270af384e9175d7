/** The TLS settings of a server, with the names of `node:tls`. */
export interface TlsPolicy {
  readonly minVersion: 'TLSv1.2' | 'TLSv1.3';
  /** OpenSSL's names, separated by colons. */
  readonly ciphers: string;
  /** Key exchanges in the order of preference, separated by colons. */
  readonly ecdhCurve?: string;
}

/** As in Go, the suites of TLS 1.3 cannot be chosen: all of them are served. */
const suitesOf13 = ['TLS_AES_128_GCM_SHA256', 'TLS_AES_256_GCM_SHA384', 'TLS_CHACHA20_POLY1305_SHA256'] as const;

/**
 * Go's and OpenSSL's names of the suites up to TLS 1.2. RC4 and 3DES are missing, because this runtime supports
 * neither.
 */
const suitesOf12 = {
  TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256: 'ECDHE-ECDSA-AES128-GCM-SHA256',
  TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256: 'ECDHE-RSA-AES128-GCM-SHA256',
  TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384: 'ECDHE-ECDSA-AES256-GCM-SHA384',
  TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384: 'ECDHE-RSA-AES256-GCM-SHA384',
  TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256: 'ECDHE-ECDSA-CHACHA20-POLY1305',
  TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256: 'ECDHE-RSA-CHACHA20-POLY1305',
  TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305: 'ECDHE-ECDSA-CHACHA20-POLY1305',
  TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305: 'ECDHE-RSA-CHACHA20-POLY1305',
  TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA: 'ECDHE-ECDSA-AES128-SHA',
  TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA: 'ECDHE-RSA-AES128-SHA',
  TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA: 'ECDHE-ECDSA-AES256-SHA',
  TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA: 'ECDHE-RSA-AES256-SHA',
  TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA256: 'ECDHE-ECDSA-AES128-SHA256',
  TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA256: 'ECDHE-RSA-AES128-SHA256',
  TLS_RSA_WITH_AES_128_GCM_SHA256: 'AES128-GCM-SHA256',
  TLS_RSA_WITH_AES_256_GCM_SHA384: 'AES256-GCM-SHA384',
  TLS_RSA_WITH_AES_128_CBC_SHA: 'AES128-SHA',
  TLS_RSA_WITH_AES_256_CBC_SHA: 'AES256-SHA',
  TLS_RSA_WITH_AES_128_CBC_SHA256: 'AES128-SHA256',
} as const;

export type CipherSuite = keyof typeof suitesOf12 | (typeof suitesOf13)[number];
export const cipherSuites = [...Object.keys(suitesOf12), ...suitesOf13] as readonly CipherSuite[];

export const tlsVersions = ['VersionTLS10', 'VersionTLS11', 'VersionTLS12', 'VersionTLS13'] as const;

/** By Go's names and by their numbers in TLS. */
const curves = {
  CurveP256: 'P-256',
  23: 'P-256',
  CurveP384: 'P-384',
  24: 'P-384',
  CurveP521: 'P-521',
  25: 'P-521',
  X25519: 'X25519',
  29: 'X25519',
  X25519MLKEM768: 'X25519MLKEM768',
  4588: 'X25519MLKEM768',
} as const;
export const curveNames = Object.keys(curves);

/** Only suites with forward secrecy and authenticated encryption. */
const defaultSuites = Object.values(suitesOf12).slice(0, 6);

export const defaultTlsPolicy: TlsPolicy = {
  minVersion: 'TLSv1.2',
  ciphers: [...suitesOf13, ...defaultSuites].join(':'),
};

/** The policy of the flags. An empty list or version means the default. TLS 1.2 is the minimum in any case. */
export function tlsPolicy(asked: {
  readonly minVersion: string;
  readonly suites: readonly string[];
  readonly curves: readonly string[];
}): TlsPolicy {
  const chosen = asked.suites.flatMap((name) => suitesOf12[name as keyof typeof suitesOf12] ?? []);
  const ecdhCurve = [...new Set(asked.curves.map((name) => curves[name as keyof typeof curves]))].join(':');
  return {
    minVersion: asked.minVersion === 'VersionTLS13' ? 'TLSv1.3' : 'TLSv1.2',
    ciphers: asked.suites.length === 0 ? defaultTlsPolicy.ciphers : [...new Set([...suitesOf13, ...chosen])].join(':'),
    ...(ecdhCurve === '' ? {} : { ecdhCurve }),
  };
}
