import type { ClassicLoadBalancer, Listener, ObservedListener } from './classic-load-balancer.ts';
import type { Wanted } from './plan.ts';
import { type ClassicStep, stepOf } from './step.ts';

const proxyPolicy = 'k8s-proxyprotocol-enabled';

/** Name that the classic controller gives to the policy. */
export function sslPolicyName(policy: string): string {
  return `k8s-SSLNegotiationPolicy-${policy}`;
}

/** New ports first; one that changes is deleted and made anew, a certificate is exchanged in place. Then what is negotiated and what members are told of clients. */
export function planListeners({ settings, subject }: Wanted, balancer: ClassicLoadBalancer): readonly ClassicStep[] {
  const { listeners } = settings;
  if (listeners === undefined) return [];
  const steps: ClassicStep[] = [];
  const { name } = balancer;
  const there = new Map(balancer.listeners.map((listener) => [listener.port, listener]));
  const missing = listeners.filter(({ port }) => !there.has(port));
  if (missing.length > 0) {
    const summary = `add to ${name}: ${missing.map(describe).join(', ')}`;
    steps.push(stepOf(subject, summary, { does: 'create listeners', listeners: missing }));
  }
  const kept: ObservedListener[] = [];
  for (const wanted of listeners) {
    const old = there.get(wanted.port);
    if (old === undefined) continue;
    const { certificate } = wanted;
    if (!sameListener(old, wanted)) {
      steps.push(
        stepOf(subject, `delete listener ${describe(old)} of ${name}; it is made anew`, {
          does: 'delete listener',
          port: old.port,
        }),
        stepOf(subject, `add to ${name}: ${describe(wanted)}`, { does: 'create listeners', listeners: [wanted] }),
      );
    } else {
      kept.push(old);
      if (certificate === undefined || certificate === old.certificate) continue;
      const summary = `certificate of listener ${old.port} of ${name} from ${old.certificate ?? 'none'} to ${certificate}`;
      steps.push(stepOf(subject, summary, { does: 'set certificate', port: old.port, certificate }));
    }
  }
  for (const old of balancer.listeners) {
    if (listeners.some(({ port }) => port === old.port)) continue;
    const summary = `delete listener ${describe(old)} of ${name}`;
    steps.push(stepOf(subject, summary, { does: 'delete listener', port: old.port }));
  }
  return [...steps, ...sslSteps(), ...proxySteps()];

  function sslSteps(): ClassicStep[] {
    const { sslPolicy } = settings;
    if (sslPolicy === undefined) return [];
    const policy = sslPolicyName(sslPolicy);
    const lacking = kept.filter(({ protocol, policies }) => isTls(protocol) && !policies.includes(policy));
    const needed = lacking.length > 0 || steps.some(({ call }) => makesTls(call));
    const result: ClassicStep[] = [];
    if (needed && !balancer.policies.includes(policy)) {
      const attribute = { name: 'Reference-Security-Policy', value: sslPolicy };
      const call = { does: 'create policy', policy, type: 'SSLNegotiationPolicyType', attribute } as const;
      result.push(stepOf(subject, `add policy ${policy} to ${name}`, call));
    }
    for (const { port, policies } of lacking) {
      const summary = `policies of listener ${port} of ${name} from ${policies.join(', ') || 'none'} to ${policy}`;
      result.push(stepOf(subject, summary, { does: 'set listener policies', port, policies: [policy] }));
    }
    return result;
  }

  function proxySteps(): ClassicStep[] {
    const { proxyProtocol } = settings;
    if (proxyProtocol === undefined || listeners === undefined) return [];
    const ports = new Set(proxyProtocol ? listeners.map(({ instancePort }) => instancePort) : []);
    const result: ClassicStep[] = [];
    if (proxyProtocol && !balancer.policies.includes(proxyPolicy)) {
      const attribute = { name: 'ProxyProtocol', value: 'true' };
      const call = { does: 'create policy', policy: proxyPolicy, type: 'ProxyProtocolPolicyType', attribute } as const;
      result.push(stepOf(subject, `add policy ${proxyPolicy} to ${name}`, call));
    }
    const set = (port: number, policies: readonly string[], on: boolean) => {
      const summary = `PROXY protocol to port ${port} of the members of ${name} ${on ? 'on' : 'off'}`;
      result.push(stepOf(subject, summary, { does: 'set backend policies', port, policies }));
    };
    for (const port of ports) {
      const policies = balancer.backendPolicies.get(port) ?? [];
      if (!policies.includes(proxyPolicy)) set(port, [...policies, proxyPolicy], true);
    }
    for (const [port, policies] of balancer.backendPolicies) {
      if (ports.has(port) || !policies.includes(proxyPolicy)) continue;
      set(
        port,
        policies.filter((policy) => policy !== proxyPolicy),
        false,
      );
    }
    return result;
  }
}

function makesTls(call: ClassicStep['call']): boolean {
  return call.does === 'create listeners' && call.listeners.some(({ protocol }) => isTls(protocol));
}

function isTls(protocol: string): boolean {
  return protocol === 'SSL' || protocol === 'HTTPS';
}

function sameListener(there: Listener, wanted: Listener): boolean {
  return (
    there.protocol === wanted.protocol &&
    there.instancePort === wanted.instancePort &&
    there.instanceProtocol === wanted.instanceProtocol
  );
}

function describe({ protocol, port, instanceProtocol, instancePort }: Listener): string {
  return `${protocol} ${port} to ${instanceProtocol} ${instancePort}`;
}
