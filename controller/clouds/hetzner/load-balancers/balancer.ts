import type { Found, Reference } from '../../../engine/resource.ts';
import type { AnswerFields } from '../../answer-fields.ts';
import { timeIn } from '../../answer-values.ts';
import { canonical } from '../../ip-address.ts';
import { isRetained, labelKeys, ownerOf } from './labels.ts';

/** Kinds of resources. All but certificates and dedicated servers are a load balancer or parts of one. */
export const kindNames = {
  balancer: 'load balancer',
  /** That a load balancer which others made is used by one Service. */
  claim: 'claim',
  network: 'network',
  service: 'service',
  target: 'target',
  certificate: 'certificate',
  dedicated: 'dedicated server',
} as const;

/** The wire's own fields of a service or of a health check. */
export type Json = { readonly [name: string]: unknown };

export type Balancer = Readonly<ReturnType<typeof readBalancer>>;
export type Service = Readonly<ReturnType<typeof readService>>;
export type Target = Readonly<ReturnType<typeof readTarget>[number]>;

/** A load balancer as the API shows it, as far as we read it. @throws CloudError `Invalid` */
export function readBalancer(fields: AnswerFields) {
  const location = fields.object('location');
  const net = fields.object('public_net');
  return {
    id: fields.id('id'),
    name: fields.text('name'),
    labels: fields.labels('labels'),
    createdAtMs: timeIn(fields, 'created'),
    type: fields.object('load_balancer_type').text('name'),
    algorithm: fields.object('algorithm').text('type'),
    location: location.text('name'),
    zone: location.text('network_zone'),
    isProtected: fields.object('protection').flag('delete'),
    isPublic: net.flag('enabled'),
    ipv4: addressOf(net.optionalObject('ipv4')),
    ipv6: addressOf(net.optionalObject('ipv6')),
    networks: fields.objects('private_net').map((one) => ({ network: one.id('network'), ip: one.text('ip') })),
    services: fields.objects('services').map(readService),
    /** Without those by a label selector: they are left alone. */
    targets: fields.objects('targets').flatMap(readTarget),
  };
}

function addressOf(fields: AnswerFields | undefined) {
  const ip = fields?.optionalText('ip');
  return ip === undefined ? undefined : { ip: canonical(ip), rdns: fields?.optionalText('dns_ptr') };
}

function readService(fields: AnswerFields) {
  const http = fields.optionalObject('http')?.json();
  return {
    port: fields.number('listen_port'),
    certificates: (Array.isArray(http?.['certificates']) ? http['certificates'] : []).map(String),
    body: fields.json(),
  };
}

function readTarget(fields: AnswerFields) {
  const type = fields.text('type');
  if (type !== 'server' && type !== 'ip') return [];
  const value = type === 'server' ? fields.object('server').id('id') : canonical(fields.object('ip').text('ip'));
  const states = fields.optionalObjects('health_status').map((one) => one.text('status'));
  const isKnown = states.length > 0 && !states.includes('unknown');
  const healthy = isKnown ? states.every((state) => state === 'healthy') : undefined;
  const usesPrivateIp = fields.optionalFlag('use_private_ip') ?? false;
  return [
    {
      type: type as 'server' | 'ip',
      /** Id of the server, or the address. */
      value,
      usesPrivateIp,
      healthy,
    },
  ];
}

export function targetKey({ type, value }: Pick<Target, 'type' | 'value'>): string {
  return `${type} ${value}`;
}

/** A load balancer and its parts as resources. Its labels say whose the parts are: these have none. */
export function foundOf(one: Balancer): Found[] {
  const { id, labels } = one;
  const owner = ownerOf(labels);
  const isAttached = owner !== undefined && labels[labelKeys.attached] !== undefined;
  const address = (one.isPublic ? one.ipv4?.ip : undefined) ?? one.networks[0]?.ip;
  // What shows that it is ours goes last.
  const claim: Reference = { role: 'claim', kind: kindNames.claim, id, loose: true, proof: true };
  const part = <B>(kind: string, key: string, slot: string, body: B, refs: readonly Reference[] = []): Found<B> => ({
    kind,
    id: `${id}/${key}`,
    key,
    within: id,
    slots: [slot],
    status: 'ready',
    body,
    ...(owner !== undefined && { owner }),
    refs: isAttached ? [...refs, claim] : refs,
  });
  return [
    {
      kind: kindNames.balancer,
      id,
      slots: [`name ${one.name}`],
      status: 'ready',
      body: one,
      ...(owner !== undefined && !isAttached && { owner, key: 'main' }),
      ...(isRetained(labels) && { retained: true }),
      ...((labelKeys.consent in labels || isAttached) && { consentForAnyCluster: true }),
      ...(address !== undefined && { address }),
    },
    ...(isAttached
      ? [{ ...part(kindNames.claim, 'main', `claim ${id}`, one), id, refs: [] }]
      : // Those of others stay where the load balancer is not ours alone.
        one.networks.map((net) => ({
          ...part(kindNames.network, net.network, `network ${id}`, net),
          ...(!labels[labelKeys.hidden]?.includes('private') && { address: net.ip }),
        }))),
    ...one.services.map((service) => {
      const refs = service.certificates.map((cert) => ({
        role: 'certificates',
        kind: kindNames.certificate,
        id: cert,
      }));
      return part(kindNames.service, String(service.port), `port ${id} ${service.port}`, service, refs);
    }),
    ...one.targets.map((target) => {
      const key = targetKey(target);
      return part(kindNames.target, key, `target ${id} ${key}`, target);
    }),
  ];
}
