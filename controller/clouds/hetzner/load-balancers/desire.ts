import { createHash } from 'node:crypto';
import ipaddr from 'ipaddr.js';
import { hetzner } from '../../../../common/provider-id/hetzner.ts';
import { type Desire, type Found, nameOf, type ResourceName, type Want } from '../../../engine/resource.ts';
import { canonical } from '../../ip-address.ts';
import type { DesireInput } from '../../load-balancer-driver.ts';
import type { DesiredLoadBalancer, DesiredMember, DesiredPort } from '../../load-balancers.ts';
import { servedPorts, unsupported } from '../../served-ports.ts';
import { withoutNewListeners } from '../../unkept-source-ranges.ts';
import { prefix } from '../annotations.ts';
import { type Balancer, kindNames, type Service, type Target, targetKey } from './balancer.ts';
import type { BalancerSpec } from './balancers.ts';
import { type Certificate, type CertificateSpec, sameDomains } from './certificates.ts';
import type { ClaimSpec } from './claims.ts';
import type { Marks } from './labels.ts';
import type { NetworkSpec } from './networks.ts';
import { placeOf } from './place.ts';
import type { ServiceSpec } from './services.ts';
import { type Settings, settingsOf } from './settings.ts';
import type { TargetSpec } from './targets.ts';

export interface DesireOptions {
  /** Of annotations, by their names without the prefix. */
  readonly defaults: ReadonlyMap<string, string>;
  /** Id of the private network. Undefined: there is none, or it was not asked for yet. */
  networkId(): string | undefined;
}

const balancer: ResourceName = nameOf({ kind: kindNames.balancer, key: 'main' });
const claim: ResourceName = nameOf({ kind: kindNames.claim, key: 'main' });

/** What serves a Service. Pure but for the id of the network. */
export function desireOf(input: DesireInput, { defaults, networkId }: DesireOptions): Desire {
  const { desired, found, own } = input;
  const { owner, service } = desired;
  const settings = settingsOf(desired.annotations, defaults);
  const name = settings.name ?? desired.name;
  const hidden = [settings.hidesIpv6 && 'ipv6', settings.hidesPrivate && 'private'].filter(Boolean).join('.');
  const marks: Marks = { owner, service, hostname: settings.hostname, hidden: hidden || undefined };
  const main: Want<BalancerSpec> = {
    kind: kindNames.balancer,
    key: 'main',
    slot: `name ${name}`,
    carriesAddress: true,
    spec: { name, marks, settings },
    summary: `load balancer ${name}`,
  };
  const { served, refusals: unserved } = servedPorts(desired, true, ['TCP']);
  const refusals = [...fieldsOf(desired).map(unsupported), ...unserved, ...settings.problems.map(unsupported)];
  // What cannot be read changes nothing, and nothing goes.
  if (settings.problems.length > 0) return { wants: standing(main, own()), refusals };

  const held = <B>(kind: string) => own().filter((one) => one.kind === kind) as readonly Found<B>[];
  const { place, refusals: ofPlace } = placeOf(input, settings.name);
  refusals.push(...ofPlace);
  if (place.is === 'nowhere') return { wants: [], refusals };
  const host = place.is === 'host' ? place.host : undefined;
  if (host === undefined && !settings.location && !settings.zone && held(kindNames.balancer).length === 0) {
    refusals.push(unsupported(`${prefix}location: missing, expected it or ${prefix}network-zone`));
    return { wants: [{ ...main, leaveUnchanged: true }], refusals };
  }
  const network = host === undefined ? networkOf(settings, networkId()) : undefined;
  const isInNetwork = host ? host.body.networks.some((one) => one.network === networkId()) : network !== undefined;
  if (settings.usesPrivateIp && !isInNetwork) {
    const where = host ? `load balancer ${host.id} in the network of HCLOUD_NETWORK` : 'HCLOUD_NETWORK beside it';
    refusals.push(unsupported(`${prefix}use-private-ip: "true", expected ${where}`));
    return { wants: standing(main, own()), refusals };
  }
  const certificates = certificatesOf(settings, marks, found);
  const ports = new Set(held<Service>(kindNames.service).map(({ key }) => key));
  const inside = host ? [claim] : [];
  const part = (want: Want, needs: readonly ResourceName[]): Want => ({
    ...want,
    within: balancer,
    needs: [...inside, ...needs],
  });
  const forTargets = settings.usesPrivateIp && network ? [nameOf(network)] : [];
  const wants: readonly Want[] = [
    ...(host ? useOf(host, main, marks) : [main]),
    ...certificates,
    ...(network ? [network] : []),
    ...servicesOf(served, settings, certificates.map(nameOf))
      .filter(({ key }) => place.is === 'own' || place.mayAdd || ports.has(key))
      .map((want) => part(want, certificates.map(nameOf))),
    ...targetsOf(desired.members, settings.usesPrivateIp, held<Target>(kindNames.target), found).map((want) =>
      want.kind === kindNames.target ? part(want, forTargets) : want,
    ),
  ];
  const kept = desired.sourceRanges.length > 0 ? withoutNewListeners(wants, own(), kindNames.service) : wants;
  return { wants: kept, refusals };
}

/** What others made, and the labels that say who uses it. */
function useOf({ id }: Found<Balancer>, { slot: _, ...main }: Want, marks: Marks): Want[] {
  const spec: ClaimSpec = { marks };
  const claims = { kind: kindNames.claim, key: 'main', within: balancer, slot: 'claim {within}' };
  return [
    { ...main, use: { id, allowed: true } },
    { ...claims, spec, summary: `claim of load balancer ${id}` },
  ];
}

function fieldsOf({ sourceRanges, sessionAffinity, address }: DesiredLoadBalancer): string[] {
  const fields = [
    sourceRanges.length > 0 &&
      `spec.loadBalancerSourceRanges: ${sourceRanges.join(', ')}, expected none. Until then no port is added, ` +
        'because it would be open to everybody',
    sessionAffinity && `spec.sessionAffinity: "ClientIP", expected "None", or ${prefix}http-sticky-sessions`,
    address && `spec.loadBalancerIP: ${JSON.stringify(address)}, expected none: the cloud chooses the address`,
  ];
  return fields.filter((one) => typeof one === 'string');
}

/** Everything that is there, as it is. */
function standing(main: Want, own: readonly Found[]): Want[] {
  const claimed = own.find(({ kind }) => kind === kindNames.claim)?.within;
  const parts = new Map(own.flatMap((one) => (one.kind === kindNames.balancer ? [] : [[nameOf(one), one]])));
  return [
    claimed === undefined ? { ...main, leaveUnchanged: true } : { ...main, use: { id: claimed, allowed: true } },
    ...[...parts.values()].map(
      ({ kind, key = '', within }): Want => ({
        kind,
        key,
        leaveUnchanged: true,
        spec: undefined,
        summary: `${kind} ${key}`,
        ...(within !== undefined && { within: balancer }),
      }),
    ),
  ];
}

function certificatesOf(
  { protocol, uploaded = [], managed }: Settings,
  marks: Marks,
  found: DesireInput['found'],
): Want[] {
  if (protocol !== 'https') return [];
  const { certificate: kind } = kindNames;
  const there = (found(kind) as readonly Found<Certificate>[]).map(({ body, owner }) => ({ ...body, owner }));
  if (managed === undefined)
    return uploaded.map((key) => {
      const id = there.find((one) => one.id === key || one.name === key)?.id ?? key;
      return { kind, key, use: { id, allowed: true }, spec: undefined, summary: `certificate ${key}` };
    });
  const { domains, isStaging } = managed;
  const name = managed.name ?? `ccm-managed-certificate-${marks.owner.service}`;
  const isTaken = there.some((one) => one.name === name && one.owner && !sameDomains(one.domains, domains));
  // Names are unique in a project, and the one for the former domains goes last.
  const free = isTaken
    ? `${name}-${createHash('sha256')
        .update([...domains].sort().join())
        .digest('hex')
        .slice(0, 8)}`
    : name;
  const spec: CertificateSpec = { name: free, hasClassicName: !isTaken, domains, isStaging, marks };
  return [{ kind, key: 'managed', slot: `certificate ${free}`, spec, summary: `certificate ${free}` }];
}

function networkOf({ privateIp, subnet }: Settings, network: string | undefined): Want<NetworkSpec> | undefined {
  if (network === undefined) return undefined;
  const spec = { network, ip: privateIp, subnet };
  const where = { within: balancer, slot: 'network {within}', carriesAddress: true };
  return { kind: kindNames.network, key: network, ...where, spec, summary: `network ${network}` };
}

function servicesOf(
  ports: readonly DesiredPort[],
  settings: Settings,
  names: readonly ResourceName[],
): Want<ServiceSpec>[] {
  // HTTP takes none.
  const certificates = names.length > 0 || settings.protocol === 'http' ? names : undefined;
  return ports.map(({ port, nodePort }) => ({
    kind: kindNames.service,
    key: String(port),
    slot: `port {within} ${port}`,
    summary: `port ${port}`,
    spec: { port, body: settings.service(nodePort), certificates },
    ports: [{ port, protocol: 'TCP' }],
  }));
}

/** @param there the targets that stand */
function targetsOf(
  members: readonly DesiredMember[],
  usesPrivateIp: boolean,
  there: readonly Found<Target>[],
  found: DesireInput['found'],
): Want[] {
  const wants = new Map<ResourceName, Want>();
  const add = (want: Want) => void wants.set(nameOf(want), want);
  const keys = new Set(there.map(({ key }) => key));
  let isAddressUnknown = false;

  function addTarget({ providerID, addresses }: DesiredMember, type: Target['type'], value: string): void {
    const key = targetKey({ type, value });
    // Known by its providerID alone: nothing is added.
    if (addresses.length === 0 && !keys.has(key)) return;
    const spec: TargetSpec = { type, value, usesPrivateIp, member: providerID };
    add({ kind: kindNames.target, key, slot: `target {within} ${key}`, spec, summary: `target ${key}` });
  }
  for (const member of members) {
    const id = hetzner.parse(member.providerID)?.instanceId;
    if (id === undefined) continue;
    if (!id.startsWith('bm-')) {
      addTarget(member, 'server', id);
      continue;
    }
    const key = id.slice('bm-'.length);
    if (!usesPrivateIp)
      add({ kind: kindNames.dedicated, key, use: { id: key, allowed: true }, spec: undefined, summary: id });
    const address = usesPrivateIp
      ? member.addresses.find((one) => ipaddr.IPv4.isValid(one))
      : found(kindNames.dedicated).find((one) => one.id === key)?.body;
    if (typeof address === 'string') addTarget(member, 'ip', canonical(address));
    else isAddressUnknown = true;
  }
  // Which of the addresses is the one that is not known cannot be told: they all stay.
  for (const { kind, key = '', body } of isAddressUnknown ? there : [])
    if (body.type === 'ip' && !wants.has(nameOf({ kind, key })))
      add({ kind, key, leaveUnchanged: true, spec: undefined, summary: `target ${key}` });
  return [...wants.values()];
}
