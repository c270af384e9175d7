import { type Found, isOwnedBy, type Refusal } from '../../../engine/resource.ts';
import { accessTo, nameHolder } from '../../access.ts';
import type { DesireInput } from '../../load-balancer-driver.ts';
import type { DesiredLoadBalancer } from '../../load-balancers.ts';
import { type Balancer, kindNames } from './balancer.ts';
import { consentOf, isRetainedFor, labelKeys, ownerOf, serviceOf } from './labels.ts';

/** In which load balancer a Service is served. */
export type Place =
  | { readonly is: 'own' }
  /** One that others made. `mayAdd`: otherwise the ports that are there are kept up to date, and none is added. */
  | { readonly is: 'host'; readonly host: Found<Balancer>; readonly mayAdd: boolean }
  | { readonly is: 'nowhere' };

/**
 * Parts carry no labels, so a load balancer of others serves one Service, and nothing else. What a Service has goes on
 * where what it asks for is refused. Pure.
 *
 * @param name as the annotation of the classic controller has it
 */
export function placeOf(
  input: DesireInput,
  name: string | undefined,
): { readonly place: Place; readonly refusals: readonly Refusal[] } {
  const { desired } = input;
  const { owner, service, ports, attach, mayChangeAddress } = desired;
  const balancers = input.found(kindNames.balancer) as readonly Found<Balancer>[];
  const parts = input.own();
  const isOwn = parts.some(({ kind }) => kind === kindNames.balancer);
  const claimed = parts.find(({ kind }) => kind === kindNames.claim)?.within;
  const used = balancers.find((one) => one.id === claimed);
  const own: Place = { is: 'own' };
  const onHost = (host: Found<Balancer>, mayAdd: boolean): Place => ({ is: 'host', host, mayAdd });

  /** What it has goes on. */
  function instead(reason: Refusal['reason'], message: string, ports?: NonNullable<Refusal['ports']>) {
    const place: Place = isOwn ? own : used === undefined ? { is: 'nowhere' } : onHost(used, false);
    return { place, refusals: [{ reason, message, ...(ports !== undefined && { ports }) }] };
  }
  function accessOf({ id, body }: Found<Balancer>) {
    const served = used?.id === id ? body.services.map(({ port }) => ({ port, protocol: 'TCP' as const })) : [];
    return accessTo(
      { what: `load balancer ${id}`, consent: consentOf(body.labels), allowed: attach?.allowed ?? false, served },
      desired,
    );
  }

  const requested =
    attach === undefined
      ? namedOf(desired, name, balancers)
      : balancers.find(({ id, body }) => id === attach.id || body.name === attach.id);
  if (requested === undefined && attach !== undefined)
    return instead('Unsupported', `load balancer ${JSON.stringify(attach.id)} does not exist in this project`);
  if (requested === undefined || isOwnedBy(requested, owner)) {
    if (isOwn || used === undefined || mayChangeAddress) return { place: own, refusals: [] };
    const message = `${service} uses load balancer ${used.id}, which others made; one of its own has another address`;
    return { place: onHost(used, accessOf(used).may === 'use'), refusals: [{ reason: 'AddressWouldChange', message }] };
  }
  const { id, body } = requested;
  const holder = ownerOf(body.labels);
  if (holder !== undefined && requested !== used)
    return instead(
      'Conflict',
      `load balancer ${id} is used by ${nameHolder(serviceOf(body.labels), desired)}`,
      ports.map(({ port, protocol }) => ({ port, protocol })),
    );
  const isKept = isRetainedFor(body.labels, service);
  const access = accessOf(requested);
  const refusals = access.may === 'use' || isKept ? [] : [refusalOf(access.refusal)];
  if (access.may === 'nothing' && !isKept) return instead(refusals[0]!.reason, refusals[0]!.message);
  const others =
    requested === used || isKept ? [] : body.services.filter(({ port }) => !ports.some((one) => one.port === port));
  if (others.length > 0) {
    const shown = others.map(({ port }) => port).join(', ');
    return instead(
      'ForeignLoadBalancer',
      `load balancer ${id} serves port ${shown} for others, expected one that serves nothing else`,
    );
  }
  if ((isOwn || used !== undefined) && requested !== used && !mayChangeAddress)
    return instead('AddressWouldChange', `load balancer ${id} has another address than the one that serves ${service}`);
  return { place: onHost(requested, access.may === 'use' || isKept), refusals };
}

function refusalOf({ message, ...refusal }: Refusal): Refusal {
  const { consent, consentNamespace, consentService } = labelKeys;
  const labels = `here its parts stand in the labels ${consent}, ${consentNamespace} and ${consentService}`;
  return { ...refusal, message: `${message}; ${labels}` };
}

/** One of that name, as the classic controller takes it, where its labels say that it is meant to be used. */
function namedOf(
  { owner, service }: DesiredLoadBalancer,
  name: string | undefined,
  balancers: readonly Found<Balancer>[],
): Found<Balancer> | undefined {
  const named = name === undefined ? undefined : balancers.find(({ body }) => body.name === name);
  const labels = named?.body.labels ?? {};
  if (named?.owner !== undefined || labels[labelKeys.classic] === owner.service) return undefined;
  const isMeant = consentOf(labels).length > 0 || ownerOf(labels) !== undefined || isRetainedFor(labels, service);
  return isMeant ? named : undefined;
}
