import { isIP } from 'node:net';
import type { Refusal } from '../../../engine/resource.ts';
import type { DesiredLoadBalancer, IpFamily } from '../../load-balancers.ts';
import { parseNodeLabels } from '../../node-labels.ts';
import type { LoadBalancerConfig, Placement } from '../load-balancer-config.ts';
import { nameMatcher } from '../network/subnet-filters.ts';
import { isUuid } from '../uuid.ts';
import { keys, longestHostname, values } from './annotations.ts';
import type { Features } from './features.ts';
import { isEverybody, type MonitorTimes, type Timeouts } from './octavia-answer.ts';

/** `PROXY` and `PROXYV2` are the protocols of Octavia's pools. */
export type ProxyProtocol = 'none' | 'PROXY' | 'PROXYV2';

/**
 * What annotations and configuration ask for. Undefined = not understood or not possible: what exists stays, and
 * without it nothing is created.
 */
export interface Settings {
  readonly family: IpFamily;
  readonly internal: boolean | undefined;
  readonly namedId: string | undefined;
  readonly hostname: string | undefined;
  readonly keepFloatingIp: boolean | undefined;
  readonly placement: Placement | undefined;
  readonly portId: string | undefined;
  readonly method: string | undefined;
  /** Of a pool that is created while `method` is not understood. */
  readonly usualMethod: string;
  readonly connectionLimit: number | undefined;
  readonly proxyProtocol: ProxyProtocol | undefined;
  readonly forwardedFor: boolean | undefined;
  /** `none` where the driver has none. */
  readonly timeouts: Timeouts | 'none' | undefined;
  /** `none` = members are not checked. */
  readonly monitor: MonitorTimes | 'none' | undefined;
  readonly flavorId: string | undefined;
  readonly availabilityZone: string | undefined;
  /** Empty = no TLS. */
  readonly tlsRef: string | undefined;
  /** `unlimited` where the driver has none and none are asked for (or the security group has them). */
  readonly allowedCidrs: readonly string[] | 'unlimited' | undefined;
  /** These keep things from being made. */
  readonly refusals: readonly Refusal[];
  /** These are told, and the rest is done. */
  readonly remarks: readonly Refusal[];
}

export interface SettingsParts {
  readonly config: LoadBalancerConfig;
  readonly features: Features;
}

const longestMs = 2_073_600_000;
const dnsName = /^([a-z0-9*]([-a-z0-9]*[a-z0-9])?\.)*[a-z0-9]([-a-z0-9]*[a-z0-9])?\.?$/i;

export function readSettings(desired: DesiredLoadBalancer, { config, features }: SettingsParts): Settings {
  const { annotations } = desired;
  const refusals: Refusal[] = [];
  const remarks: Refusal[] = [];
  const refuse = (message: string, into = refusals): undefined => {
    into.push({ reason: 'Unsupported', message });
    return undefined;
  };
  const given = (key: string) => annotations[key]?.trim();

  /** The annotation's value or the default; undefined when it is not understood. */
  function read<T>(
    key: string,
    expected: string,
    byDefault: T,
    parse: (value: string) => T | undefined,
  ): T | undefined {
    const value = given(key);
    if (value === undefined) return byDefault;
    const parsed = parse(value);
    return parsed ?? refuse(`${key}: ${JSON.stringify(value)}, expected ${expected}`);
  }

  /** Refuses an annotation that this provider or API has no use for, unless it asks for nothing. */
  function needs(
    feature: boolean,
    key: string,
    what: string,
    harmless: (value: string) => boolean = () => false,
  ): boolean {
    const value = given(key);
    if (feature || value === undefined || harmless(value)) return true;
    const here = features.layer4 ? `provider ${features.provider}` : `Octavia API ${features.version ?? ''}`.trim();
    refuse(`${key}: ${JSON.stringify(value)}: ${here} has no ${what}`);
    return false;
  }

  const flag = (value: string) => (value === 'true' ? true : value === 'false' ? false : undefined);
  const integer = (least: number, most: number) => (value: string) => {
    const number = /^-?\d{1,15}$/.test(value) ? Number(value) : Number.NaN;
    return number >= least && number <= most ? number : undefined;
  };
  const id = (key: string) =>
    read<string>(key, values.id, '', (value) => (value === '' || isUuid(value) ? value : undefined));

  const family: IpFamily = desired.families[0] ?? 'IPv4';
  if (desired.families.length > 1) {
    const others = desired.families.slice(1).join(', ');
    refuse(`spec.ipFamilies: ${others}: a load balancer of Octavia serves the first family, ${family}, alone`, remarks);
  }

  const asked = read<boolean | 'unset'>(keys.internal, values.flag, 'unset', flag);
  if (asked === false && config.internal) {
    refuse(`${keys.internal}: "false": internal-lb of the cloud config makes every Service internal`, remarks);
  }
  const internal = asked === undefined ? undefined : config.internal || asked === true;

  read(keys.nodeSelector, values.nodeSelector, [], parseNodeLabels);
  if (!features.tags)
    refuse(
      `Octavia API ${features.version}: it has no tags, which say whose a load balancer is; expected v2.5 or newer`,
    );

  const proxyWord = (value: string): ProxyProtocol | undefined => {
    if (value === 'true' || value === 'v1') return 'PROXY';
    if (value === 'v2') return 'PROXYV2';
    return value === 'false' || value === '' ? 'none' : undefined;
  };
  const off = (value: string) => value === 'false' || value === '';
  let proxyProtocol = read<ProxyProtocol>(keys.proxyProtocol, values.proxy, 'none', proxyWord);
  if (!needs(!features.layer4, keys.proxyProtocol, 'PROXY protocol', off)) proxyProtocol = undefined;
  if (proxyProtocol === 'PROXYV2' && !needs(features.proxyV2, keys.proxyProtocol, 'PROXY protocol v2'))
    proxyProtocol = undefined;
  let forwardedFor = read<boolean>(keys.forwardedFor, values.flag, false, flag);
  if (!needs(!features.layer4, keys.forwardedFor, 'HTTP', off)) forwardedFor = undefined;
  if (proxyProtocol !== undefined && proxyProtocol !== 'none' && forwardedFor) {
    refuse(
      `${keys.forwardedFor}: "true": not together with ${keys.proxyProtocol}: ` +
        JSON.stringify(given(keys.proxyProtocol)),
    );
    proxyProtocol = undefined;
    forwardedFor = undefined;
  }

  const url = (value: string) => (value === '' || !config.barbican || URL.canParse(value) ? value : undefined);
  let tlsRef = read<string>(keys.tlsContainerRef, values.container, config.defaultTlsContainerRef ?? '', url);
  if (!needs(!features.layer4, keys.tlsContainerRef, 'TLS', (value) => value === '')) tlsRef = undefined;
  else if (tlsRef && features.layer4) {
    tlsRef = refuse(
      `[LoadBalancer] default-tls-container-ref of the cloud config: provider ${features.provider} has no TLS`,
    );
  }

  const methods = features.layer4 ? ['SOURCE_IP_PORT'] : ['ROUND_ROBIN', 'LEAST_CONNECTIONS', 'SOURCE_IP'];
  // A load balancer keeps its provider when the configuration names another one.
  const usualMethod = methods.includes(config.method) ? config.method : methods[0]!;
  const method = read<string>(keys.method, methods.join(', '), usualMethod, (value) =>
    methods.includes(value.toUpperCase()) ? value.toUpperCase() : undefined,
  );

  let connectionLimit = read<number>(keys.connectionLimit, values.limit, -1, integer(-1, 2 ** 31 - 1));
  if (!needs(!features.layer4, keys.connectionLimit, 'limit of connections', (value) => value === '-1'))
    connectionLimit = undefined;

  const settings: Settings = {
    family,
    internal,
    namedId: given(keys.loadBalancerId) || undefined,
    hostname: read<string>(keys.hostname, values.hostname, '', (value) =>
      value.length <= longestHostname && (value === '' || dnsName.test(value)) ? value : undefined,
    ),
    keepFloatingIp: keepsFloatingIp(),
    placement: placementOf(),
    portId: id(keys.portId),
    method,
    usualMethod,
    connectionLimit,
    proxyProtocol,
    forwardedFor,
    timeouts: timeoutsOf(),
    monitor: monitorOf(),
    flavorId: needs(features.flavor, keys.flavorId, 'flavors') ? id(keys.flavorId) : undefined,
    availabilityZone: needs(features.availabilityZone, keys.availabilityZone, 'availability zones')
      ? given(keys.availabilityZone)
      : undefined,
    tlsRef,
    allowedCidrs: cidrsOf(),
    refusals,
    remarks,
  };
  return settings;

  function keepsFloatingIp(): boolean | undefined {
    const keeps = read<boolean>(keys.keepFloatingIp, values.flag, false, flag);
    if (keeps !== true || desired.mayKeepAddress) return keeps;
    const message =
      `${keys.keepFloatingIp}: "true": --allow-keep-address names neither the namespace nor the class of ` +
      `${desired.service}; the floating IP goes when the Service goes`;
    remarks.push({ reason: 'RetentionNotAllowed', message });
    return false;
  }

  function timeoutsOf(): Settings['timeouts'] {
    const timeouts = [
      keys.timeoutClientData,
      keys.timeoutMemberConnect,
      keys.timeoutMemberData,
      keys.timeoutTcpInspect,
    ];
    const possible = timeouts.map((key) => needs(features.timeouts, key, 'timeouts')).every(Boolean);
    if (!features.timeouts) return possible ? 'none' : undefined;
    const [clientData, memberConnect, memberData, tcpInspect] = timeouts.map((key, at) =>
      read<number>(key, values.milliseconds, [50_000, 5000, 50_000, 0][at] ?? 0, integer(0, longestMs)),
    );
    if (
      clientData === undefined ||
      memberConnect === undefined ||
      memberData === undefined ||
      tcpInspect === undefined
    ) {
      return undefined;
    }
    return { clientData, memberConnect, memberData, tcpInspect };
  }

  function monitorOf(): Settings['monitor'] {
    const { monitor } = config;
    const enabled = read<boolean>(keys.healthMonitor, values.flag, monitor.create, flag);
    const delay = read<number>(keys.monitorDelay, values.seconds, monitor.delaySeconds, integer(1, 2 ** 31 - 1));
    const timeout = read<number>(keys.monitorTimeout, values.seconds, monitor.timeoutSeconds, integer(1, 2 ** 31 - 1));
    const maxRetries = read<number>(keys.monitorMaxRetries, values.retries, monitor.maxRetries, integer(1, 10));
    const down = read<number>(keys.monitorMaxRetriesDown, values.retries, monitor.maxRetriesDown, integer(1, 10));
    if (enabled === undefined || delay === undefined || timeout === undefined) return undefined;
    if (maxRetries === undefined || down === undefined) return undefined;
    return enabled ? { delay, timeout, maxRetries, maxRetriesDown: down } : 'none';
  }

  /** For floating IPs: class, annotation, configuration. For the VIP: annotation, class, configuration. */
  function placementOf(): Placement | undefined {
    const name = given(keys.class);
    const section = name ? config.classes.get(name) : undefined;
    if (name && section === undefined) {
      const known = [...config.classes.keys()].map((one) => JSON.stringify(one)).join(', ') || 'none';
      return refuse(
        `${keys.class}: ${JSON.stringify(name)}: no such [LoadBalancerClass] in the cloud config; there is: ${known}`,
      );
    }
    const ids = {
      floatingNetworkId: id(keys.floatingNetworkId),
      floatingSubnetId: id(keys.floatingSubnetId),
      networkId: id(keys.networkId),
      subnetId: id(keys.subnetId),
      memberSubnetId: id(keys.memberSubnetId),
    };
    const pattern = given(keys.floatingSubnet);
    if (pattern !== undefined && nameMatcher(pattern) === undefined) {
      return refuse(`${keys.floatingSubnet}: ${JSON.stringify(pattern)}, expected ${values.subnetName}`);
    }
    const byPerson: Placement = {
      ...Object.fromEntries(Object.entries(ids).filter(([, value]) => value)),
      ...(pattern ? { floatingSubnet: pattern } : {}),
      ...(given(keys.floatingSubnetTags) ? { floatingSubnetTags: given(keys.floatingSubnetTags)! } : {}),
    };
    if (Object.values(ids).includes(undefined)) return undefined;
    const floating = ['floatingNetworkId', 'floatingSubnetId', 'floatingSubnet', 'floatingSubnetTags'] as const;
    const fromClass = Object.fromEntries(floating.flatMap((key) => (section?.[key] ? [[key, section[key]]] : [])));
    const { floatingNetworkId, ...rest } = { ...config.placement, ...section, ...byPerson };
    const isNamed = floatingNetworkId !== undefined && given(keys.floatingNetworkId) !== '';
    return { ...rest, ...(isNamed && { floatingNetworkId }), ...fromClass };
  }

  function cidrsOf(): Settings['allowedCidrs'] {
    const ranges = desired.sourceRanges;
    const shown = `spec.loadBalancerSourceRanges: ${ranges.join(', ')}`;
    if (!features.allowedCidrs) {
      // Its groups let in only these, then; with a load balancer between, members see none of its clients.
      if (ranges.length === 0 || (features.layer4 && config.manageSecurityGroups)) return 'unlimited';
      const here = features.layer4 ? `provider ${features.provider}` : `Octavia API ${features.version}`;
      return refuse(`${shown}: ${here} has no allowed CIDRs, and manage-security-groups is off`);
    }
    const fitting = ranges.filter((range) => isIP(range.split('/')[0] ?? '') === (family === 'IPv6' ? 6 : 4));
    // Without any left it would be open to everybody.
    if (ranges.length > 0 && fitting.length === 0)
      return refuse(`${shown}: none is ${family}, as the address of the load balancer is`);
    return fitting.some(isEverybody) ? [] : fitting;
  }
}
