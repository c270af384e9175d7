import { createAnnotationReader, flagOf, matching, numberIn, oneOf } from '../../annotation-reader.ts';
import type { DesiredLoadBalancer, DesiredPort } from '../../load-balancers.ts';
import { type AnnotationName, annotationTable, prefix } from '../annotations.ts';
import type { Options } from '../options.ts';
import type { Json } from './found.ts';

export type Settings = ReturnType<typeof settingsOf>;

const onOff = (text: string) => (text === 'on' ? true : text === 'off' ? false : undefined);
const id = matching(/^[0-9a-f]{8}(-?[0-9a-f]{4}){3}-?[0-9a-f]{12}$/i);
const shareTypes = ['PER', 'WHOLE'];
/** The longest time that the API takes, in minutes, of TCP and UDP. */
const longestPersistence = 60;

/**
 * What the annotations of a Service and the ConfigMap say; an annotation wins. Undefined: what stands is left as it is.
 * Pure.
 */
export function settingsOf(desired: Pick<DesiredLoadBalancer, 'annotations' | 'sessionAffinity'>, options: Options) {
  const { annotations, sessionAffinity } = desired;
  const ofService = (name: AnnotationName) => annotations[prefix + name] || undefined;
  const { read, wrong, problems } = createAnnotationReader<AnnotationName>({
    textOf: (name) => ofService(name) ?? (options.texts[name] || undefined),
    sourceOf: (name) => (ofService(name) === undefined ? `ConfigMap loadbalancer-config: ${name}` : prefix + name),
    expectedOf: (name) => annotationTable[name][0],
  });
  const isShared = (read('class', oneOf('dedicated', 'shared')) ?? 'dedicated') === 'shared';
  const named = read('eip-id', id)?.toLowerCase();
  const made = read('eip-auto-create-option', eipOption);
  if (named !== undefined && made !== undefined) wrong('eip-auto-create-option', 'none beside eip-id');
  const certificate = read('default-tls-container-ref', matching(/^[\w-]+$/));
  const isWeb = read('x-forwarded-host', flagOf);
  const isSticky = read('session-affinity-flag', onOff) ?? sessionAffinity !== undefined;
  const sticky = read('session-affinity-option', stickyOption);
  const check = { delay: 5, timeout: 3, max_retries: 3, ...read('health-check-option', checkOption) };
  const isChecked = read('health-check-flag', onOff) ?? true;
  const transparent = read('enable-transparent-client-ip', flagOf);
  // As the classic controller has it, 0 says nothing.
  const idle = read('idle-timeout', numberIn(0, 4000)) || undefined;
  const [request, response] = (['request-timeout', 'response-timeout'] as const).map(
    (name) => read(name, numberIn(0, 300)) || undefined,
  );
  const crossVpc = !isShared && (read('enable-cross-vpc', flagOf) ?? false);
  const size = (name: 'l4-flavor-id' | 'l7-flavor-id') => read(name, matching(/^\S+$/));
  const [l4, l7] = [size('l4-flavor-id'), size('l7-flavor-id')];
  const minutes = Math.ceil((sessionAffinity?.timeoutSeconds ?? 0) / 60);

  return {
    isShared,
    id: read('id', id)?.toLowerCase(),
    /** Id of one of others, or how a new one is made; undefined: the private address is shown. */
    eip: named ?? made,
    crossVpc,
    /** What cannot be read or done: name, value and what was expected. */
    problems,
    zones: read('availability-zones', zoneList),
    subnet: read('subnet-id', id)?.toLowerCase(),
    keepEip: read('keep-eip', flagOf) ?? false,
    /** In the wire's fields. */
    balancer: isShared ? {} : { l4_flavor_id: l4, l7_flavor_id: l7, ip_target_enable: crossVpc || undefined },
    algorithm: read('lb-algorithm', oneOf('ROUND_ROBIN', 'LEAST_CONNECTIONS', 'SOURCE_IP')),
    /** Session persistence of a pool with that protocol; null: none. */
    persistenceOf(protocol: string): Json | null {
      if (!isSticky) return null;
      const usual = protocol === 'HTTP' ? { type: 'HTTP_COOKIE' } : { type: 'SOURCE_IP' };
      const timeout = minutes === 0 ? {} : { persistence_timeout: Math.min(minutes, longestPersistence) };
      const type = sticky?.['type'];
      const fits = type === undefined || (type === 'SOURCE_IP') === (protocol !== 'HTTP');
      return { ...usual, ...timeout, ...(fits && sticky) };
    },
    /** Delay, timeout, retries; undefined: none. */
    check: isChecked ? check : undefined,
    protocolOf({ protocol }: DesiredPort): string {
      if (protocol !== 'TCP') return protocol;
      if (certificate !== undefined) return isShared ? 'TERMINATED_HTTPS' : 'HTTPS';
      return isWeb ? 'HTTP' : 'TCP';
    },
    /** In the wire's fields, of a listener with that protocol. */
    listenerOf(protocol: string): Json {
      if (protocol === 'UDP' || protocol === 'TCP')
        return {
          keepalive_timeout: isShared && protocol === 'UDP' ? undefined : idle,
          transparent_client_ip_enable: isShared ? transparent : undefined,
        };
      return {
        keepalive_timeout: idle,
        client_timeout: request,
        member_timeout: response,
        insert_headers: isWeb === undefined ? undefined : { 'X-Forwarded-Host': isWeb },
        default_tls_container_ref: protocol === 'HTTP' ? undefined : certificate,
      };
    },
    remarks: [
      ...(ofService('connection-limit') ? [`${prefix}connection-limit has no effect: nothing reads it`] : []),
      ...(minutes > longestPersistence
        ? [`a client stays with its node for ${longestPersistence} minutes at most`]
        : []),
    ],
  };
}

function zoneList(text: string): readonly string[] | undefined {
  const zones = text.split(';').map((one) => one.trim());
  return zones.every((one) => /^[\w.-]+$/.test(one)) ? zones : undefined;
}

/** An object of JSON whose fields are all known and good. */
function jsonOf(text: string, fields: Readonly<Record<string, (value: unknown) => boolean>>): Json | undefined {
  try {
    const json: unknown = JSON.parse(text);
    if (typeof json !== 'object' || json === null || Array.isArray(json)) return undefined;
    return Object.entries(json).every(([name, value]) => fields[name]?.(value) === true) ? (json as Json) : undefined;
  } catch {
    return undefined;
  }
}
const between = (least: number, most: number) => (value: unknown) =>
  Number.isInteger(value) && Number(value) >= least && Number(value) <= most;
const isWord = (value: unknown) => typeof value === 'string' && /^[\w.-]{1,64}$/.test(value);

function eipOption(text: string): { readonly type: string; readonly bandwidth: Json } | undefined {
  const json = jsonOf(text, {
    ip_type: isWord,
    bandwidth_size: between(1, 2000),
    share_id: isWord,
    share_type: (value) => shareTypes.includes(String(value)),
    charge_mode: (value) => ['traffic', 'bandwidth'].includes(String(value)),
  });
  if (json === undefined) return undefined;
  const { ip_type: type = '5_bgp', bandwidth_size: size, share_type: share = 'PER' } = json;
  const isWhole = share === 'WHOLE';
  if (isWhole ? json['share_id'] === undefined : size === undefined) return undefined;
  const own = { size, charge_mode: json['charge_mode'] ?? 'traffic' };
  return { type: String(type), bandwidth: { share_type: share, ...(isWhole ? { id: json['share_id'] } : own) } };
}

function stickyOption(text: string): Json | undefined {
  return jsonOf(text, {
    type: (value) => ['SOURCE_IP', 'HTTP_COOKIE', 'APP_COOKIE'].includes(String(value)),
    cookie_name: isWord,
    persistence_timeout: between(1, 1440),
  });
}

function checkOption(text: string): Json | undefined {
  return jsonOf(text, { delay: between(1, 50), timeout: between(1, 50), max_retries: between(1, 10) });
}
