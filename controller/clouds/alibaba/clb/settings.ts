import ipaddr from 'ipaddr.js';
import { createAnnotationReader, listOf, matching, numberIn, oneOf } from '../../annotation-reader.ts';
import type { DesiredLoadBalancer, DesiredPort, NodeLabel } from '../../load-balancers.ts';
import { isReservedTag } from '../../reserved-tags.ts';
import {
  type AnnotationName,
  annotationTable,
  backendAnnotation,
  classAnnotation,
  legacyPrefix,
  networkClass,
  onlyTypeOf,
  prefix,
} from '../annotations.ts';
import type { Params } from '../client.ts';
import type { AlibabaConfig } from '../config.ts';
import { classicTags } from './found.ts';

type Values = DesiredLoadBalancer['annotations'];

export type Settings = ReturnType<typeof settingsOf>;

const flag = oneOf('on', 'off');
const text = matching(/^\S+$/);
const number = numberIn;
const tcp = ['tcp'];
const transport = ['tcp', 'udp'];
const web = ['http', 'https'];
const all = [...transport, ...web];

type Parse = (text: string) => string | number | boolean | undefined;

/** Schedulers by a hash, and which protocols have them: others of the same Service keep theirs. */
const hashedProtocols: Readonly<Record<string, readonly string[]>> = { sch: transport, tch: transport, qch: ['udp'] };

/** Field of a listener, whose they are, and how the value is read. */
const listenerFields: readonly (readonly [AnnotationName, string, readonly string[], Parse])[] = [
  ['scheduler', 'Scheduler', all, oneOf('wrr', 'wlc', 'rr', 'sch', 'tch', 'qch')],
  ['persistence-timeout', 'PersistenceTimeout', tcp, number(0, 3600)],
  ['established-timeout', 'EstablishedTimeout', tcp, number(10, 900)],
  ['connection-drain', 'ConnectionDrain', tcp, flag],
  ['connection-drain-timeout', 'ConnectionDrainTimeout', tcp, number(10, 900)],
  ['proxy-protocol', 'ProxyProtocolV2Enabled', transport, (value) => (flag(value) ? value === 'on' : undefined)],
  ['idle-timeout', 'IdleTimeout', web, number(1, 60)],
  ['request-timeout', 'RequestTimeout', web, number(1, 180)],
  ['sticky-session', 'StickySession', web, flag],
  ['sticky-session-type', 'StickySessionType', web, oneOf('insert', 'server')],
  ['cookie', 'Cookie', web, matching(/^[\w-]{1,200}$/)],
  ['cookie-timeout', 'CookieTimeout', web, number(1, 86_400)],
  ['xforwardedfor-proto', 'XForwardedFor_proto', web, flag],
  ['xforwardedfor-slbport', 'XForwardedFor_SLBPORT', web, flag],
  ['xforwardedfor-clientsrcport', 'XForwardedFor_ClientSrcPort', web, flag],
  ['cert-id', 'ServerCertificateId', ['https'], text],
  ['tls-cipher-policy', 'TLSCipherPolicy', ['https'], matching(/^tls_cipher_policy_1_\w+$/)],
  ['http2-enabled', 'EnableHttp2', ['https'], flag],
  ['acl-id', 'AclId', all, matching(/^acl-[0-9a-z]+$/)],
  ['acl-type', 'AclType', all, oneOf('white', 'black')],
  ['acl-status', 'AclStatus', all, flag],
  ['health-check-switch', 'HealthCheck', transport, flag],
  ['health-check-flag', 'HealthCheck', web, flag],
  ['health-check-type', 'HealthCheckType', tcp, oneOf('tcp', 'http')],
  ['health-check-uri', 'HealthCheckURI', ['tcp', ...web], matching(/^\/\S*$/)],
  ['health-check-connect-port', 'HealthCheckConnectPort', all, number(1, 65_535)],
  ['health-check-httpcode', 'HealthCheckHttpCode', ['tcp', ...web], matching(/^http_[1-5]xx(,http_[1-5]xx)*$/)],
  ['health-check-domain', 'HealthCheckDomain', ['tcp', ...web], text],
  ['health-check-method', 'HealthCheckMethod', web, oneOf('get', 'head')],
  ['healthy-threshold', 'HealthyThreshold', all, number(2, 10)],
  ['unhealthy-threshold', 'UnhealthyThreshold', all, number(2, 10)],
  ['health-check-interval', 'HealthCheckInterval', all, number(1, 50)],
  ['health-check-connect-timeout', 'HealthCheckConnectTimeout', transport, number(1, 300)],
  ['health-check-timeout', 'HealthCheckTimeout', web, number(1, 300)],
];

/** Fields of a listener of that protocol that annotations say. */
export function fieldsWithAnnotation(protocol: string): readonly string[] {
  return listenerFields.filter(([, , of]) => of.includes(protocol)).map(([, field]) => field);
}

const ownChecks: readonly AnnotationName[] = [
  ...(['health-check-switch', 'health-check-flag', 'health-check-type', 'health-check-uri'] as const),
  ...(['health-check-connect-port', 'health-check-httpcode'] as const),
];
const onlyValues: readonly (readonly [AnnotationName, string])[] = [
  ['server-group-type', 'instance'],
  ['backend-ip-version', 'ipv4'],
  ['slb-network-type', 'vpc'],
];

const backendType = oneOf('ecs', 'eni');

/** An empty one says nothing. */
function textOf(values: Values, name: AnnotationName): string | undefined {
  return values[prefix + name] || values[legacyPrefix + name] || undefined;
}

export function pairs(text: string): readonly (readonly [string, string])[] | undefined {
  return listOf((one) => {
    const [, key, value = ''] = /^([^=]+)(?:=(.*))?$/.exec(one) ?? [];
    return key === undefined ? undefined : ([key, value] as const);
  })(text);
}

export function tagPairs(text: string): ReturnType<typeof pairs> {
  const found = pairs(text);
  return found?.some(([key]) => isReservedTag(key, Object.values(classicTags))) ? undefined : found;
}

/** Only Nodes with these labels. Undefined: it cannot be read. */
export function nodeLabelsOf(values: Values): readonly NodeLabel[] | undefined {
  const text = textOf(values, 'backend-label');
  return text === undefined ? [] : pairs(text)?.map(([key, value]) => ({ key, value }));
}

/** @param servesPods by the cloud config. What cannot be read is said where all is read. */
export function takesPods(values: Values, servesPods: boolean): boolean {
  const said = values[backendAnnotation] || textOf(values, 'backend-type');
  return (said ?? (servesPods ? 'eni' : 'ecs')) === 'eni';
}

/** Of the class that its annotation or its `loadBalancerClass` names. */
export function isNetworkClass({
  annotations,
  loadBalancerClass,
}: Pick<DesiredLoadBalancer, 'annotations' | 'loadBalancerClass'>): boolean {
  return [loadBalancerClass, annotations[classAnnotation]].includes(networkClass);
}

/** What both types read alike: what is refused, what is of the other type, and what has no effect. */
export function readerOf(annotations: Values, type: 'CLB' | 'NLB') {
  const { read, wrong, problems } = createAnnotationReader<AnnotationName>({
    textOf: (name) => textOf(annotations, name),
    sourceOf: (name) =>
      (annotations[prefix + name] || !annotations[legacyPrefix + name] ? prefix : legacyPrefix) + name,
    expectedOf: (name) => annotationTable[name][0],
  });
  const has = (name: AnnotationName) => textOf(annotations, name) !== undefined;
  const names = (Object.keys(annotationTable) as AnnotationName[]).filter(has);
  const isIgnored = (name: AnnotationName) => annotationTable[name][0] === 'ignored';
  for (const name of names) {
    const [values] = annotationTable[name];
    if (values.startsWith('refused')) wrong(name, `none: ${values.slice(9)}`);
    else if ((onlyTypeOf(name) ?? type) !== type)
      wrong(name, `none: it is of ${type === 'NLB' ? 'Classic' : 'Network'} Load Balancers`);
  }
  for (const [name, value] of onlyValues) read(name, oneOf(value));
  read('backend-type', backendType);
  const backend = annotations[backendAnnotation];
  if (backend && backendType(backend) === undefined)
    problems.push(`${backendAnnotation}: ${JSON.stringify(backend)}, expected ${annotationTable['backend-type'][0]}`);
  const classes = annotations[classAnnotation];
  if (classes && classes !== networkClass)
    problems.push(`${classAnnotation}: ${JSON.stringify(classes)}, expected ${networkClass} or none`);
  read('backend-label', pairs);
  const remarks = names.filter(isIgnored).map((name) => `${prefix}${name} has no effect: ${annotationTable[name][1]}`);
  return { read, wrong, has, problems, remarks };
}

/** Without what is undefined. */
export function set(params: Params): Params {
  return Object.fromEntries(Object.entries(params).filter(([, value]) => value !== undefined));
}

/** What the annotations of a Service say. Undefined: what stands is left as it is. Pure. */
export function settingsOf(
  { annotations, families, ports }: Pick<DesiredLoadBalancer, 'annotations' | 'families' | 'ports'>,
  { isPublicRefused, resourceGroup }: Pick<AlibabaConfig, 'isPublicRefused' | 'resourceGroup'>,
) {
  const { read, wrong, has, problems, remarks } = readerOf(annotations, 'CLB');
  const kind = read('address-type', oneOf('internet', 'intranet')) ?? (isPublicRefused ? 'intranet' : 'internet');
  if (kind === 'internet' && isPublicRefused) wrong('address-type', 'intranet: disablePublicSLB is set');
  const onlyVersion6 = families.length === 1 && families[0] === 'IPv6';
  const version = read('ip-version', oneOf('ipv4', 'ipv6')) ?? (onlyVersion6 ? 'ipv6' : 'ipv4');
  const charge = read('charge-type', oneOf('paybytraffic', 'paybybandwidth'));
  const bandwidth = read('bandwidth', number(1, 5000));
  const isOfBandwidth = charge === 'paybybandwidth';
  if (isOfBandwidth && !has('bandwidth')) wrong('bandwidth', 'it, beside paybybandwidth');
  if (!isOfBandwidth && has('bandwidth')) remarks.push(`${prefix}bandwidth has no effect without paybybandwidth`);
  const protocols = new Map(
    read('protocol-port', listOf(protocolPort))?.map(([protocol, port]) => [port, protocol] as const),
  );
  const protocolOf = ({ port, protocol }: DesiredPort) => (protocol === 'TCP' ? (protocols.get(port) ?? 'tcp') : 'udp');
  if (ports.some((port) => protocolOf(port) === 'https') && !has('cert-id')) wrong('cert-id', 'it, beside https');
  const fields = listenerFields.map(([name, field, of, parse]) => [field, of, read(name, parse)] as const);
  const hashed = hashedProtocols[String(fields.find(([field]) => field === 'Scheduler')?.[2])];
  const unhashed = ports.map(protocolOf).filter((protocol) => hashed?.includes(protocol) === false);
  if (unhashed.length > 0)
    remarks.push(`${prefix}scheduler has no effect on ${[...new Set(unhashed)].join(', ')}, which have no such hash`);
  const usesList = has('acl-id') && read('acl-status', flag) === 'on';
  const isPrivate = kind === 'intranet';
  const vswitch = read('vswitch-id', matching(/^vsw-[0-9a-z]+$/));

  return {
    name: read('name', matching(/^[A-Za-z\u4e00-\u9fa5][^\s]{0,79}$/)),
    hostname: read('hostname', matching(/^[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?$/))?.toLowerCase(),
    tags: Object.fromEntries(read('additional-resource-tags', tagPairs) ?? []),
    version: version as 'ipv4' | 'ipv6',
    /** In the wire's fields: they cannot be changed. */
    fixed: set({
      AddressType: kind,
      AddressIPVersion: version,
      VSwitchId: isPrivate ? vswitch : undefined,
      MasterZoneId: read('master-zoneid', text),
      SlaveZoneId: read('slave-zoneid', text),
      Address: read('ip', (value) => (ipaddr.isValid(value) ? value : undefined)),
    }),
    /** Changes by the action that makes them; only what was chosen. */
    settings: compact({
      SetLoadBalancerDeleteProtection: set({ DeleteProtection: read('delete-protection', flag) }),
      SetLoadBalancerModificationProtection: set({
        ModificationProtectionStatus: read('modification-protection', oneOf('ConsoleProtection', 'NonProtection')),
      }),
      ModifyLoadBalancerInternetSpec: isPrivate
        ? {}
        : set({ InternetChargeType: charge, Bandwidth: isOfBandwidth ? bandwidth : undefined }),
      ModifyLoadBalancerInstanceChargeType: set({
        InstanceChargeType: read('instance-charge-type', oneOf('PayBySpec', 'PayByCLCU')),
      }),
      ModifyLoadBalancerInstanceSpec: set({ LoadBalancerSpec: read('spec', matching(/^slb\.\S+$/)) }),
    }),
    atCreation: set({ ResourceGroupId: read('resource-group-id', matching(/^rg-[0-9a-z]+$/)) ?? resourceGroup }),
    /** `tcp`, `udp`, `http` or `https`. */
    protocolOf,
    /** What cannot be read or done: name, value and what was expected. */
    problems,
    /** Health checks ask kube-proxy: no annotation says otherwise. */
    asksKubeProxy: !ownChecks.some(has),
    /** Whether annotations say which access list is used, and not the source ranges. */
    hasList: has('acl-id') || has('acl-status'),
    /** An access list that others made is named and switched on. */
    usesList,
    forwardPorts: new Map(read('forward-port', listOf(portPair))),
    /** In the wire's fields, of a listener of that protocol. */
    fieldsOf: (protocol: string) =>
      set(
        Object.fromEntries(
          fields.flatMap(([field, of, value]) =>
            of.includes(protocol) &&
            (field !== 'Scheduler' || (hashed ?? all).includes(protocol)) &&
            value !== undefined
              ? [[field, value]]
              : [],
          ),
        ),
      ),
    /** What has no effect. */
    remarks,
  };
}

function protocolPort(value: string): readonly [string, number] | undefined {
  const [, protocol, port] = /^(tcp|udp|http|https):(\d{1,5})$/.exec(value) ?? [];
  return protocol === undefined ? undefined : [protocol, Number(port)];
}

function portPair(value: string): readonly [number, number] | undefined {
  const [, from, to] = /^(\d{1,5}):(\d{1,5})$/.exec(value) ?? [];
  return from === undefined ? undefined : [Number(from), Number(to)];
}

/** Without actions that have nothing to set. */
function compact(settings: Readonly<Record<string, Params>>): Readonly<Record<string, Params>> {
  return Object.fromEntries(Object.entries(settings).filter(([, params]) => Object.keys(params).length > 0));
}
