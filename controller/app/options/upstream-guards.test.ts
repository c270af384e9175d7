import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { parseFlags } from '../../../common/process/flags.ts';
import { runCommandFlags } from '../../commands/run-command.ts';
import { readAccessTimes, readTlsPolicy } from './serving-flags.ts';
import { upstreamFlags } from './upstream-flags.ts';

function parse(...argv: readonly string[]) {
  return parseFlags(runCommandFlags, ['--cloud-provider=simulated', ...argv]);
}

/** Upstream's flags that guard access or exclusion, with a value that asks for something. */
const guards: readonly (readonly [argument: string, result: 'honoured' | 'refused'])[] = [
  ['--tls-min-version=VersionTLS13', 'honoured'],
  ['--tls-min-version=VersionTLS12', 'honoured'],
  ['--tls-min-version=VersionTLS10', 'honoured'],
  ['--tls-min-version=1.3', 'refused'],
  ['--tls-min-version=VersionTLS14', 'refused'],
  ['--tls-cipher-suites=TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384,TLS_AES_128_GCM_SHA256', 'honoured'],
  ['--tls-cipher-suites=TLS_RSA_WITH_AES_128_GCM_SHA256', 'honoured'],
  ['--tls-cipher-suites=ECDHE-ECDSA-AES256-GCM-SHA384', 'refused'],
  ['--tls-cipher-suites=TLS_RSA_WITH_RC4_128_SHA', 'refused'],
  ['--tls-cipher-suites=TLS_RSA_WITH_3DES_EDE_CBC_SHA', 'refused'],
  ['--tls-curve-preferences=X25519MLKEM768,CurveP256', 'honoured'],
  ['--tls-curve-preferences=4588,23', 'honoured'],
  ['--tls-curve-preferences=secp256k1', 'refused'],
  ['--authentication-token-webhook-cache-ttl=2s', 'honoured'],
  ['--authentication-token-webhook-cache-ttl=1h', 'refused'],
  ['--authorization-webhook-cache-authorized-ttl=0', 'honoured'],
  ['--authorization-webhook-cache-unauthorized-ttl=30s', 'honoured'],
  ['--authentication-kubeconfig=/etc/kubernetes/a.conf', 'refused'],
  ['--authentication-skip-lookup', 'refused'],
  ['--authentication-skip-lookup=false', 'honoured'],
  ['--authentication-tolerate-lookup-failure', 'refused'],
  ['--authorization-kubeconfig=/etc/kubernetes/a.conf', 'refused'],
  ['--authorization-always-allow-paths=/healthz,/readyz,/livez', 'honoured'],
  ['--authorization-always-allow-paths=/healthz', 'refused'],
  ['--authorization-always-allow-paths=/healthz,/readyz,/livez,/metrics', 'refused'],
  ['--client-ca-file=/etc/kubernetes/ca.crt', 'refused'],
  ['--requestheader-client-ca-file=/etc/kubernetes/ca.crt', 'refused'],
  ['--requestheader-allowed-names=front-proxy-client', 'refused'],
  ['--webhooks=a', 'refused'],
  ['--webhooks=persistentvolumelabel', 'honoured'],
  ['--webhooks=*,-persistentvolumelabel', 'honoured'],
  ['--webhooks=persistentvolumelabel,b', 'refused'],
  ['--webhook-bind-address=127.0.0.1', 'honoured'],
  ['--webhook-bind-address=a', 'refused'],
  ['--webhook-secure-port=10261', 'honoured'],
  ['--webhook-tls-cert-file=/a', 'honoured'],
  ['--webhook-tls-private-key-file=/a', 'honoured'],
  ['--webhook-tls-min-version=VersionTLS13', 'honoured'],
  ['--webhook-tls-cipher-suites=TLS_AES_128_GCM_SHA256', 'honoured'],
  ['--webhook-tls-cipher-suites=TLS_RSA_WITH_RC4_128_SHA', 'refused'],
  ['--webhook-tls-curve-preferences=X25519', 'honoured'],
  ['--enable-leader-migration', 'refused'],
  ['--leader-migration-config=/etc/migration.yaml', 'refused'],
  ['--leader-elect-resource-lock=configmaps', 'refused'],
  ['--master=https://10.0.0.1', 'refused'],
  ['--bind-address=127.0.0.1', 'honoured'],
];

/** Upstream's other flags of access concern features that do not exist here, so accepting them grants nothing. */
const harmless: readonly (readonly [argument: string, why: RegExp])[] = [
  ['--requestheader-username-headers=x-user', /request headers do not authenticate/],
  ['--requestheader-group-headers=x-group', /request headers do not authenticate/],
  ['--requestheader-extra-headers-prefix=x-extra-', /request headers do not authenticate/],
  ['--requestheader-uid-headers=x-uid', /request headers do not authenticate/],
  ['--permit-port-sharing', /ports are not shared/],
  ['--permit-address-sharing', /ports are not shared/],
  ['--disable-http2-serving', /HTTP\/1.1 alone/],
  ['--http2-max-streams-per-connection=10', /HTTP\/1.1 alone/],
  ['--tls-sni-cert-key=/a.crt,/a.key', /one certificate/],
  ['--webhook-tls-sni-cert-key=/a,/b', /one certificate/],
  ['--webhook-disable-http2-serving', /HTTP\/1.1 alone/],
  ['--webhook-cert-dir=/a', /see --webhook-tls-cert-file/],
  ['--profiling', /no profiling/],
  ['--address=127.0.0.1', /no insecure port/],
  ['--port=10253', /no insecure port/],
  ['--use-service-account-credentials', /one ServiceAccount/],
];

describe('a flag of upstream that guards access or exclusion', () => {
  for (const [argument, result] of guards) {
    it(`${result === 'refused' ? 'refuses' : 'honours'} ${argument}`, () => {
      const parsed = parse(argument);
      if (result === 'refused') {
        assert.ok(!parsed.ok);
        assert.ok(parsed.message.startsWith(argument.split('=')[0] ?? ''), parsed.message);
        return;
      }
      assert.ok(parsed.ok, JSON.stringify(parsed));
      const name = argument.slice(2).split('=')[0] ?? '';
      const isActive = !Object.hasOwn(upstreamFlags, name);
      assert.deepEqual(isActive ? parsed.warnings : [], [], 'accepted without effect');
    });
  }

  for (const [argument, why] of harmless) {
    it(`accepts with a warning a flag that has nothing to guard: ${argument}`, () => {
      const parsed = parse(argument);
      assert.ok(parsed.ok, JSON.stringify(parsed));
      assert.match(parsed.warnings.join(), why);
    });
  }

  it('lists in these tables every flag whose name tells of access or exclusion', () => {
    const listed = new Set([...guards, ...harmless].map(([argument]) => argument.slice(2).split('=')[0]));
    const telling = /^(authentication|authorization|client-ca|requestheader|tls|webhook|http2|permit|leader-migration)/;
    const missing = Object.keys(upstreamFlags).filter((name) => telling.test(name) && !listed.has(name));
    assert.deepEqual(missing, []);
  });

  it('reaches the servers as what it asks for', () => {
    const parsed = parse(
      '--tls-min-version=VersionTLS13',
      '--tls-curve-preferences=CurveP256',
      '--authentication-token-webhook-cache-ttl=2s',
      '--authorization-webhook-cache-unauthorized-ttl=0',
    );
    assert.ok(parsed.ok);
    const { minVersion, ecdhCurve } = readTlsPolicy(parsed.values);
    assert.deepEqual([minVersion, ecdhCurve], ['TLSv1.3', 'P-256']);
    assert.deepEqual(readAccessTimes(parsed.values), { tokenMs: 2_000, authorizedMs: 10_000, unauthorizedMs: 0 });
  });
});
