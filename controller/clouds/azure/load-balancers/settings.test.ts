import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { desiredFor, newOwner, port } from '../../../../test/clouds/suite/desired.ts';
import type { DesiredLoadBalancer } from '../../load-balancers.ts';
import { annotations, portPrefix, prefix } from '../annotations.ts';
import { settingsOf } from './settings.ts';

const settings = (own: Readonly<Record<string, string>>, more: Partial<DesiredLoadBalancer> = {}) => {
  const all = Object.fromEntries(Object.entries(own).map(([name, value]) => [prefix + name, value]));
  return settingsOf(desiredFor(newOwner('c'), [], { annotations: all, ...more }));
};
const problemsOf = (...args: Parameters<typeof settings>) => settings(...args).problems;

/** Every annotation of the classic controller, as its source has them. */
const classic = `load-balancer-internal load-balancer-internal-subnet load-balancer-mode load-balancer-configurations
  load-balancer-resource-group load-balancer-ipv4 load-balancer-ipv6 pip-name pip-name-ipv6 pip-prefix-id
  pip-prefix-id-ipv6 pip-tags pip-ip-tags dns-label-name additional-public-ips allowed-service-tags allowed-ip-ranges
  deny-all-except-load-balancer-source-ranges load-balancer-tcp-idle-timeout shared-securityrule
  load-balancer-enable-high-availability-ports load-balancer-disable-tcp-reset disable-load-balancer-floating-ip
  disable-load-balancer-nsg-rule load-balancer-health-probe-protocol load-balancer-health-probe-request-path
  load-balancer-health-probe-interval load-balancer-health-probe-num-of-probe pls-create pls-resource-group pls-name
  pls-ip-configuration-subnet pls-ip-configuration-ip-address-count pls-ip-configuration-ip-address pls-fqdns
  pls-proxy-protocol pls-visibility pls-auto-approval`;

describe('annotations of Services on Azure', () => {
  it('lists the annotations of the classic controller', () => {
    const keys = annotations.map(({ key }) => key);
    const names = keys.flatMap((key) => (key.startsWith(prefix) ? key.slice(prefix.length) : [])).sort();
    assert.deepEqual(names, classic.split(/\s+/).sort());
    const ofPorts = keys.filter((key) => !key.startsWith(prefix)).map((key) => key.replace(`${portPrefix}{port}_`, ''));
    assert.deepEqual(ofPorts.sort(), [
      'health-probe_interval',
      'health-probe_num-of-probe',
      'health-probe_port',
      'health-probe_protocol',
      'health-probe_request-path',
      'no_lb_rule',
      'no_probe_rule',
    ]);
  });

  it('reads annotations of one port for that port, with the node port of a port that is named', () => {
    const ports = [port(80, 30080, { name: 'web' }), port(81, 30081, { name: 'admin' })];
    const of = (own: Readonly<Record<string, string>>) => {
      const annotations = Object.fromEntries(Object.entries(own).map(([name, value]) => [portPrefix + name, value]));
      return settingsOf(desiredFor(newOwner('c'), [], { annotations, ports }));
    };
    const { ports: found, problems } = of({
      '80_health-probe_port': 'ADMIN',
      '80_health-probe_protocol': ' Https',
      '80_no_lb_rule': 'false',
      '81_no_probe_rule': 'true',
      '81_health-probe_port': '9000',
    });
    assert.deepEqual(problems, []);
    assert.deepEqual(Object.fromEntries(found), {
      80: { hasRule: true, hasProbe: true, probe: { protocol: 'Https', port: 30081 } },
      81: { hasRule: true, hasProbe: false, probe: { port: 9000 } },
    });
    for (const [own, expected] of [
      [{ '80_health-probe_port': 'other' }, 'port_80_health-probe_port: "other", expected a number'],
      [{ '81_health-probe_interval': '60' }, 'port_81_health-probe_interval: "60", expected less than 120 s'],
      [{ '80_no_lb_rule': 'maybe' }, 'port_80_no_lb_rule: "maybe", expected true or false'],
    ] as const)
      assert.ok(of(own).problems[0]?.includes(expected), JSON.stringify(of(own).problems));
  });

  it('returns the defaults of the classic controller without annotations', () => {
    const { problems, isInternal, idleMinutes, resetsTcp, hasFloatingIp, probe } = settings({});
    assert.deepEqual([problems, isInternal, idleMinutes, resetsTcp, hasFloatingIp], [[], false, 4, true, true]);
    assert.deepEqual(probe, { protocol: undefined, path: '/', intervalInSeconds: 5, probeThreshold: 2 });
  });

  it('refuses by name annotations that ask for what is not served', () => {
    for (const [name, value] of [
      ['load-balancer-mode', '__auto__'],
      ['load-balancer-configurations', 'lb1'],
      ['additional-public-ips', '192.0.2.7'],
      ['pls-create', 'true'],
    ] as const) {
      const [problem] = problemsOf({ [name]: value });
      assert.ok(problem?.startsWith(`${prefix}${name}: ${JSON.stringify(value)}, expected none`), problem);
    }
    assert.deepEqual(problemsOf({ 'pls-create': 'false', 'shared-securityrule': 'true' }), []);
  });

  it('refuses bad values by name, value and what was expected', () => {
    for (const own of [
      { 'load-balancer-internal': 'yes' },
      { 'load-balancer-internal-subnet': '../other' },
      { 'load-balancer-ipv4': '2001:db8::1' },
      { 'load-balancer-resource-group': 'a/b' },
      { 'pip-name': '..' },
      { 'pip-prefix-id': 'prefix' },
      { 'pip-tags': 'k8s-azure-service=x' },
      { 'pip-tags': 'a' },
      { 'dns-label-name': 'Has.Dots' },
      { 'allowed-ip-ranges': '192.0.2.0/33' },
      { 'allowed-service-tags': 'a b' },
      { 'load-balancer-tcp-idle-timeout': '3' },
      { 'load-balancer-health-probe-protocol': 'udp' },
      { 'load-balancer-health-probe-request-path': 'ready' },
      { 'load-balancer-health-probe-interval': '4' },
      { 'load-balancer-health-probe-num-of-probe': '1' },
    ]) {
      const [name, value] = Object.entries(own)[0]!;
      const problems = problemsOf(own as unknown as Record<string, string>);
      assert.equal(problems.length, 1, name);
      assert.ok(problems[0]?.startsWith(`${prefix}${name}: ${JSON.stringify(value)}, expected `), problems[0]);
    }
  });

  it('refuses annotations that exclude each other', () => {
    for (const own of [
      { 'load-balancer-health-probe-interval': '60', 'load-balancer-health-probe-num-of-probe': '2' },
      { 'pip-name': 'a', 'load-balancer-ipv4': '192.0.2.1' },
      { 'load-balancer-internal': 'true', 'pip-name': 'a' },
      { 'load-balancer-internal': 'true', 'dns-label-name': 'web' },
      { 'load-balancer-enable-high-availability-ports': 'true' },
      { 'disable-load-balancer-floating-ip': 'true' },
    ])
      assert.equal(problemsOf(own as unknown as Record<string, string>).length, 1, JSON.stringify(own));
    const ranges = { sourceRanges: ['192.0.2.0/24'] };
    assert.equal(problemsOf({ 'allowed-ip-ranges': '192.0.2.0/24' }, ranges).length, 1);
  });

  it('refuses ranges of none of its families where nothing else lets anyone in', () => {
    const own = { 'allowed-ip-ranges': '2001:db8:85a3::/64' };
    assert.match(problemsOf(own).join(), /allowed-ip-ranges: "2001:db8:85a3::\/64", expected at least one IPv4 range/);
    assert.deepEqual(problemsOf(own, { families: ['IPv4', 'IPv6'] }), []);
    assert.deepEqual(problemsOf({ 'allowed-ip-ranges': '::/0' }), []);
    assert.deepEqual(problemsOf({ ...own, 'load-balancer-internal': 'true' }), []);
    assert.deepEqual(problemsOf({ ...own, 'allowed-service-tags': 'AzureMonitor' }), []);
  });

  it('refuses annotations that name IPv6 where it is not asked for', () => {
    for (const name of ['load-balancer-ipv6', 'pip-name-ipv6', 'pip-prefix-id-ipv6'])
      assert.match(problemsOf({ [name]: '::1' }).join(), /expected .*(IPv6|prefix)/);
  });

  it('reads annotations of IPv6 beside those of IPv4, and without the family where it is alone', () => {
    const both = settings({ 'load-balancer-ipv6': '2001:db8::1', 'pip-name': 'four' }, { families: ['IPv6', 'IPv4'] });
    assert.deepEqual(both.problems, []);
    assert.deepEqual([both.sides.IPv4.publicName?.name, both.sides.IPv6.address?.ip], ['four', '2001:db8::1']);
    const six = settings({ 'pip-name': 'six' }, { families: ['IPv6'] });
    assert.equal(six.sides.IPv6.publicName?.name, 'six');
    const { sides } = settings({}, { families: ['IPv4', 'IPv6'], address: '2001:db8::2' });
    assert.deepEqual([sides.IPv4.address, sides.IPv6.address?.ip], [undefined, '2001:db8::2']);
    assert.match(problemsOf({}, { address: '::1' }).join(), /spec\.loadBalancerIP: "::1", expected an IPv4 address/);
  });
});
