import type { Found, Want } from '../../../engine/resource.ts';
import type { DesiredLoadBalancer } from '../../load-balancers.ts';
import type { AddressSpec } from './address.ts';
import { type RuleSpec, subnetOf } from './forwarding-rule.ts';
import { ipOf, isPool, kindNames } from './found.ts';
import { describe } from './names.ts';
import type { BackendService, ForwardingRule, Shown, TargetPool } from './project.ts';
import type { Settings } from './settings.ts';

/** The resources of one Service. */
export interface Standing {
  readonly rule: Found<Shown<ForwardingRule>> | undefined;
  readonly backend: Found<Shown<BackendService & TargetPool>> | undefined;
  /** Holds the address while the rule is replaced. */
  readonly held: Found<Shown> | undefined;
  readonly all: readonly Found[];
}

export function standingOf(all: readonly Found[]): Standing {
  const of = (kind: string) => all.find((one) => one.kind === kind && one.status !== 'deleting') as never;
  return { rule: of(kindNames.rule), backend: of(kindNames.backend), held: of(kindNames.address), all };
}

/** What decides about the address, as the forwarding rule that stands has it. */
export function asItStands(settings: Settings, { rule, backend }: Standing): Settings {
  const isInternal = rule?.body.wire.loadBalancingScheme === 'INTERNAL';
  const hasService = backend === undefined ? isInternal : !isPool(backend.body);
  const globalAccess = isInternal && settings.globalAccess;
  return { ...settings, isInternal, hasService, globalAccess, tier: undefined, subnet: undefined, address: undefined };
}

/** As it is. */
export function stand({ kind, key, id }: Found): Want {
  return { kind, key: key!, spec: undefined, asItStands: true, summary: `${kind} ${id}` };
}

/** The address that the Service has, unless it asks for one elsewhere. */
export function keptIp(
  { rule, held }: Standing,
  spec: Omit<RuleSpec, 'ip'>,
  asked: string | undefined,
): string | undefined {
  if (rule === undefined) return held && ipOf(held.body);
  const ip = ipOf(rule.body);
  if (asked !== undefined && asked !== ip) return undefined;
  const { loadBalancingScheme: scheme, networkTier: tier } = rule.body.wire;
  const subnet = subnetOf(rule.body.wire);
  const isThere = scheme === spec.scheme && (spec.tier ?? tier) === tier && (spec.subnet ?? subnet) === subnet;
  return isThere ? ip : undefined;
}

export function holdOf(
  { owner, service, name }: DesiredLoadBalancer,
  { scheme }: Omit<RuleSpec, 'ip'>,
  ip: string | undefined,
  { rule }: Standing,
): Want<AddressSpec> | undefined {
  if (ip === undefined || rule === undefined) return undefined;
  const path = rule.body.path.replace('/forwardingRules/', '/addresses/');
  const { networkTier, subnetwork } = rule.body.wire;
  const place = { tier: networkTier ?? null, subnet: subnetwork ?? null };
  const spec: AddressSpec = { name, description: describe(owner, service), ip, scheme, ...place };
  return { kind: kindNames.address, key: path, slot: path, spec, summary: `address ${ip}` };
}

/** The reserved address of that name. Where it is not known, a read follows. */
export function reserved(
  name: string,
  known: readonly Found[],
): { readonly ip: string | undefined; readonly wants: readonly Want[] } {
  const found = (known as readonly Found<Shown>[]).find(({ body, lent }) => lent && body.name === name);
  const use = { id: found?.id ?? name, allowed: true };
  const want = { kind: kindNames.address, key: `reserved ${name}`, use, spec: undefined, summary: `address ${name}` };
  return { ip: found && ipOf(found.body), wants: [want] };
}
