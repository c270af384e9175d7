import { type Found, nameOf, type Refusal, type Want } from '../../../engine/resource.ts';
import { accessTo, isKeptFor, nameHolder } from '../../access.ts';
import type { DesireInput } from '../../load-balancer-driver.ts';
import { prefix } from '../annotations.ts';
import type { BoundSpec, EipSpec } from './eips.ts';
import { type Balancer, type Eip, kindNames } from './found.ts';
import type { Front } from './marks.ts';
import type { Settings } from './settings.ts';

export interface AddressDesire {
  readonly front: Front;
  readonly wants: readonly Want[];
  readonly refusals: readonly Refusal[];
  /** The EIP that it names cannot be had, and without it nothing is made. */
  readonly isMissing: boolean;
}

const main = nameOf({ kind: kindNames.balancer, key: 'main' });

/** The address that a Service asks for. Another than it shows only with consent. Pure. */
export function desireAddress(
  { desired, found, own }: DesireInput,
  { eip, keepEip }: Pick<Settings, 'eip' | 'keepEip'>,
  standing: Found<Balancer> | undefined,
): AddressDesire {
  const { service, mayChangeAddress, mayKeepAddress } = desired;
  const held = own();
  const mine = held.find(({ kind }) => kind === kindNames.eip) as Found<Eip> | undefined;
  const bound = held.find(({ kind }) => kind === kindNames.bound);
  const boundTo = bound?.refs?.[0]?.id;
  const front: Front = eip === undefined ? 'vip' : 'eip';
  const shown = standing === undefined ? undefined : (standing.body.marks.front ?? (bound ? 'eip' : 'vip'));
  const refusals: Refusal[] = [];
  const keep = keepEip && mayKeepAddress;
  if (keepEip && !mayKeepAddress && typeof eip === 'object') {
    const message = `${prefix}keep-eip: the operator does not allow it, so the EIP goes with its Service`;
    refusals.push({ reason: 'RetentionNotAllowed', message });
  }

  const boundOn = (name: string, more: Partial<Want> = {}): Want => ({
    kind: kindNames.bound,
    key: 'main',
    within: main,
    needs: [name],
    carriesAddress: true,
    spec: { eip: name } satisfies BoundSpec,
    summary: 'the EIP on the load balancer',
    ...more,
  });
  function madeEip(made: Exclude<Settings['eip'], string | undefined>): Want<EipSpec> {
    const spec: EipSpec = { service, keep, type: made.type, bandwidth: made.bandwidth };
    return { kind: kindNames.eip, key: 'main', carriesAddress: true, spec, summary: `EIP of ${service}` };
  }
  /** What shows the address goes on. */
  function asShown(): AddressDesire {
    const stand = { leaveUnchanged: true, spec: undefined } as const;
    const wants: Want[] = [
      ...(mine ? [{ kind: kindNames.eip, key: 'main', summary: 'the EIP', ...stand }] : []),
      ...(bound ? [boundOn('', { needs: [], ...stand })] : []),
    ];
    return { front: shown ?? front, wants, refusals, isMissing: standing === undefined };
  }
  function refused(reason: Refusal['reason'], message: string): AddressDesire {
    refusals.push({ reason, message });
    return asShown();
  }

  const target = typeof eip === 'string' ? eip : eip === undefined ? undefined : (mine?.id ?? 'a new EIP');
  const isOther = bound === undefined ? shown === 'vip' && front === 'eip' : boundTo !== target;
  if (isOther && !mayChangeAddress) {
    const from = `${service} shows ${standing?.address ?? 'an address'}`;
    return refused('AddressWouldChange', `${from}; ${target ?? 'the private address'} would be another one`);
  }
  if (eip === undefined) return { front, wants: [], refusals, isMissing: false };
  if (typeof eip === 'object') {
    const want = madeEip(eip);
    return { front, wants: [want, boundOn(nameOf(want))], refusals, isMissing: false };
  }
  const named = found(kindNames.eip).find(({ id }) => id === eip) as Found<Eip> | undefined;
  const field = `${prefix}eip-id: ${JSON.stringify(eip)}`;
  if (named === undefined) return refused('Unsupported', `${field}, expected an EIP of this project`);
  if (boundTo !== eip) {
    const { marks, holder } = named.body;
    if (named.owner !== undefined && named !== mine)
      return refused('ForeignLoadBalancer', `${field} belongs to ${nameHolder(marks.service, desired)}`);
    if (named.owner === undefined && !isKeptFor(marks.retained, service)) {
      const what = `${field}: the description of EIP ${named.body.ip}`;
      const access = accessTo({ what, consent: marks.consent }, desired);
      if (access.may !== 'use') return refused(access.refusal.reason, access.refusal.message);
    }
    if (holder !== undefined) return refused('Conflict', `${field} is in use by ${holder}`);
  }
  const use = { id: eip, allowed: true };
  const want: Want = { kind: kindNames.eip, key: 'named', use, spec: undefined, summary: `EIP ${named.body.ip}` };
  return { front, wants: [want, boundOn(nameOf(want))], refusals, isMissing: false };
}
