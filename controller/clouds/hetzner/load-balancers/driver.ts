import type { Found, Kind } from '../../../engine/resource.ts';
import { shownAddresses } from '../../adoption.ts';
import type { AdoptionInput, LoadBalancerDriver, ShownLoadBalancer } from '../../load-balancer-driver.ts';
import type { ObservedMember } from '../../load-balancers.ts';
import { ingressOf } from '../../shown-load-balancer.ts';
import { annotations, prefix } from '../annotations.ts';
import type { HetznerClient } from '../client.ts';
import { type Balancer, kindNames, type Service, type Target } from './balancer.ts';
import { balancerKind } from './balancers.ts';
import { type Certificate, certificateKind } from './certificates.ts';
import { claimKind } from './claims.ts';
import { desireOf } from './desire.ts';
import { labelKeys, serviceOf } from './labels.ts';
import { networkKind } from './networks.ts';
import { createReader, type ReaderOptions } from './reader.ts';
import { serviceKind } from './services.ts';
import { settingsOf } from './settings.ts';
import { targetKind } from './targets.ts';

export interface LoadBalancerOptions extends Pick<ReaderOptions, 'dedicatedServers'> {
  readonly client: HetznerClient;
  /** Of annotations that a Service does not have, by their names without the prefix. */
  readonly defaults: ReadonlyMap<string, string>;
  /** The private network. Undefined: load balancers are in none. */
  readonly network: { id(signal?: AbortSignal): Promise<string> } | undefined;
}

/** What is wrong with the defaults: name, value and what was expected. */
export function checkDefaults(defaults: ReadonlyMap<string, string>): readonly string[] {
  return settingsOf({}, defaults).problems;
}

/** The load balancers of one project of Hetzner Cloud. */
export function createLoadBalancerDriver(options: LoadBalancerOptions): LoadBalancerDriver {
  const { client, defaults, network, dedicatedServers } = options;
  let networkId: string | undefined;
  const prepare = async (signal: AbortSignal | undefined) => {
    networkId ??= await network?.id(signal);
  };
  return {
    main: kindNames.balancer,
    kinds: [
      balancerKind(client),
      claimKind(client),
      networkKind(client),
      serviceKind(client),
      targetKind(client),
      certificateKind(client),
      usedKind,
    ],
    readers: [createReader({ client, dedicatedServers, prepare })],
    desire: (input) => desireOf(input, { defaults, networkId: () => networkId }),
    poll: (operations, { signal }) => client.actions(operations, signal),
    annotations,
    annotationPrefixes: [prefix],
    adopts,
    show,
    members,
    nodeLabels: (chosen) => settingsOf(chosen, defaults).nodeLabels,
    maxMembers: undefined,
    drains: false,
    slots: ({ name }) => [`name ${name}`],
  };
}

/** Only used. */
const usedKind: Kind = { kind: kindNames.dedicated, retryCreate: 'atOnce', compare: () => ({ same: true }) };

/** By the label of the classic controller, and by an address that the Service shows. */
function adopts({ kind, body }: Found, { owner, proof }: AdoptionInput): string | undefined {
  if (kind === kindNames.certificate)
    return (body as Certificate).labels[labelKeys.classic] === owner.service ? 'managed' : undefined;
  if (kind !== kindNames.balancer) return undefined;
  const { labels, ipv4, ipv6, networks } = body as Balancer;
  if (labels[labelKeys.classic] !== owner.service) return undefined;
  const shown = shownAddresses(proof);
  const addresses = [ipv4?.ip, ipv6?.ip, ...networks.map(({ ip }) => ip)];
  return shown.isNamed || addresses.some(shown.has) ? 'main' : undefined;
}

function show({ body }: Found, parts: readonly Found[]): ShownLoadBalancer {
  const { name, labels, createdAtMs, isPublic, ipv4, ipv6, networks } = body as Balancer;
  const { [labelKeys.hostname]: hostname, [labelKeys.hidden]: hidden = '' } = labels;
  const services = parts.filter(({ kind }) => kind === kindNames.service) as readonly Found<Service>[];
  const isProxy = services.some((one) => one.body.body['proxyprotocol'] === true);
  const ips = [
    ...(isPublic ? [ipv4?.ip, hidden.includes('ipv6') ? undefined : ipv6?.ip] : []),
    ...(hidden.includes('private') ? [] : networks.map(({ ip }) => ip)),
  ];
  return { name, ingress: ingressOf(ips, { hostname, isProxy }), createdAtMs, service: serviceOf(labels) };
}

/** Servers alone: an address does not tell whose it is. */
function members(parts: readonly Found[]): ObservedMember[] {
  const targets = parts.filter(({ kind }) => kind === kindNames.target) as readonly Found<Target>[];
  return targets
    .filter(({ body }) => body.type === 'server')
    .map(({ body }) => ({ providerID: `hcloud://${body.value}`, draining: false, healthy: body.healthy }));
}
