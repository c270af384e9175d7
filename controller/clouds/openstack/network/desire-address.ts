import { isIP } from 'node:net';
import type { Found, Refusal, Want } from '../../../engine/resource.ts';
import { accessTo, isKeptFor } from '../../access.ts';
import { sameAddress } from '../../ip-address.ts';
import type { DesireInput } from '../../load-balancer-driver.ts';
import { markIn } from '../load-balancers/names.ts';
import type { LoadBalancer } from '../load-balancers/octavia-answer.ts';
import type { Settings } from '../load-balancers/settings.ts';
import { consentOf, octaviaTags, tagValue } from '../load-balancers/tags.ts';
import { type FloatingIp, floatingIpSlot } from './floating-ip.ts';
import type { FloatingIpSpec } from './floating-ip-kind.ts';
import { type FloatingPool, floatingPools, type NetworkFacts } from './network-facts.ts';
import { networkKinds, vipPortName } from './network-kinds.ts';
import type { OnVipSpec } from './on-vip-kind.ts';

/** What a load balancer of Octavia says of its VIP. */
export type Vip = Pick<LoadBalancer, 'id' | 'name' | 'vipAddress' | 'vipPortId' | 'tags'>;

export interface AddressContext {
  readonly input: DesireInput;
  readonly settings: Pick<Settings, 'family' | 'internal' | 'keepFloatingIp' | 'placement' | 'portId'>;
  readonly facts: NetworkFacts | undefined;
  /** This Service's own load balancer; undefined: it is still to be made. */
  readonly own: Found<Vip> | undefined;
}

export interface AddressDesire {
  readonly wants: readonly Want[];
  readonly refusals: readonly Refusal[];
  /** Whether the VIP is the address, which a tag of the load balancer says; undefined: as that tag is. */
  readonly vip: boolean | undefined;
  /** False: the address that the Service names cannot be had, and without it nothing is made. */
  readonly mayMake: boolean;
  /** What the Service shows now is still its address when the load balancer is made again. */
  readonly survives: boolean;
}

/** The address that a Service asks for, on its own load balancer. Another than it shows only with consent. Pure. */
export function desireAddress({ input, settings, facts, own }: AddressContext): AddressDesire {
  const { desired, found } = input;
  const { owner, service, address: named, mayChangeAddress } = desired;
  const { family, placement, portId: givenPort, keepFloatingIp: keep } = settings;
  const all = found(networkKinds.floatingIp) as readonly Found<FloatingIp>[];
  const mine = input.own().filter(({ kind }) => kind === networkKinds.floatingIp) as readonly Found<FloatingIp>[];
  const isMine = (one: Found) => mine.some(({ id }) => id === one.id);
  const vipPort = own?.body.vipPortId || undefined;
  const attached = vipPort === undefined ? undefined : all.find(({ body }) => body.portId === vipPort);
  const shown = attached?.body.address ?? (own !== undefined && showsVip(own) ? own.body.vipAddress : undefined);
  const label = own === undefined ? `of ${service}` : `${own.body.name} (${own.id})`;
  const wantsVip = family === 'IPv6' ? true : settings.internal;
  const survives = attached === undefined ? shown === undefined : isMine(attached) || isNamed(attached.body);

  function isNamed({ address }: FloatingIp): boolean {
    return named !== undefined && sameAddress(named, address);
  }
  function done(wants: readonly Want[], vip?: boolean, refusals: readonly Refusal[] = []): AddressDesire {
    return { wants, refusals, vip, mayMake: true, survives };
  }
  /** What is there goes on. */
  function refused(reason: Refusal['reason'], message: string, vip?: boolean): AddressDesire {
    return done(standing(), vip, [{ reason, message }]);
  }
  function change(to: string): string {
    return `load balancer ${label}: from ${shown} to ${to}`;
  }

  function floatingIp(more: Partial<FloatingIpSpec>, rest: Partial<Want> = {}): Want {
    const none = { port: undefined, address: undefined, pools: [] };
    const spec: FloatingIpSpec = { owner, service, keep, givenPort, ...none, ...more };
    const needs = spec.port === undefined ? [] : [spec.port];
    return {
      kind: networkKinds.floatingIp,
      key: 'main',
      needs,
      slot: floatingIpSlot(desired),
      carriesAddress: true,
      spec,
      summary: `floating IP ${named === undefined ? '' : `${named} `}for load balancer ${label}`,
      ...rest,
    };
  }
  const onVip: Want<OnVipSpec | undefined> = {
    kind: networkKinds.onVip,
    key: 'main',
    within: vipPortName,
    carriesAddress: true,
    spec: undefined,
    summary: `attach floating IP ${named ?? attached?.body.address} to load balancer ${label}`,
  };
  /** On the VIP, and not by a mark of ours alone. */
  const standsOnVip = found(networkKinds.onVip).some(({ within }) => within === vipPort);
  function standing(): readonly Want[] {
    return [
      ...(mine.length > 0 ? [floatingIp({}, { leaveUnchanged: true })] : []),
      ...(standsOnVip ? [{ ...onVip, leaveUnchanged: true } as const] : []),
    ];
  }
  /** Ours, on nothing: it stays where that is said of it, and is given back otherwise. */
  function resting(): readonly Want[] {
    const isToStay = keep !== false || mine.some(({ body }) => markIn(body.description)?.keep);
    return mine.length > 0 && isToStay ? [floatingIp({})] : [];
  }

  function ofVip(): AddressDesire {
    if (own !== undefined && named !== undefined && !sameAddress(named, own.body.vipAddress))
      return refused(
        'AddressWouldChange',
        change(`${named}, which spec.loadBalancerIP names`),
        attached ? undefined : true,
      );
    if (attached !== undefined && !mayChangeAddress)
      return refused('AddressWouldChange', change(`the VIP ${own?.body.vipAddress}, without its floating IP`));
    return done(resting(), true);
  }

  function ofFloatingIp(): AddressDesire {
    if (attached !== undefined && (named === undefined || isNamed(attached.body)))
      return done(keepAttached(attached), false);
    const pools = placement && facts && floatingPools(placement, facts);
    const problem = pools !== undefined && 'problem' in pools ? pools.problem : undefined;
    const vip = own?.body.vipAddress ?? '';
    const noPool = `no floating IP for load balancer ${label}: ${problem}; it has its VIP ${vip} alone`;
    if (shown !== undefined && !mayChangeAddress) {
      // Where there never was a floating IP to be had, the VIP is what there is.
      if (attached === undefined && named === undefined && problem !== undefined) return refused('Unsupported', noPool);
      const to = named === undefined ? 'a floating IP' : `${named}, which spec.loadBalancerIP names`;
      return refused('AddressWouldChange', change(to));
    }
    const taken = mine.find(({ body }) => body.isElsewhere && body.portId !== vipPort);
    if (taken !== undefined && !mayChangeAddress) {
      const { address, portId } = taken.body;
      const place = `floating IP ${address} of ${service} is on port ${portId} of others`;
      const message = `${place}; another one would be another address`;
      return refused('Conflict', message);
    }
    if (named !== undefined) return ofNamed(named, pools === undefined || 'problem' in pools ? [] : pools);
    const isReady = mine.some(({ body }) => body.portId === undefined);
    if (isReady) return done([floatingIp({ port: vipPortName })], false);
    // Which network is meant is not understood, and told.
    if (pools === undefined) return done(standing());
    if ('problem' in pools) return refused('Unsupported', noPool, shown === undefined ? true : undefined);
    return done([floatingIp({ port: vipPortName, pools })], false);
  }

  function keepAttached(there: Found<FloatingIp>): readonly Want[] {
    const onItsOwn = standsOnVip ? [{ ...onVip, leaveUnchanged: true } as const] : [];
    if (!isMine(there)) return [...resting(), ...onItsOwn];
    // Of several that an earlier try has left, the one that serves stays.
    const use = mine.length > 1 && { use: { id: there.id, allowed: true } };
    return [floatingIp({ port: vipPortName, address: named }, { ...use }), ...onItsOwn];
  }

  function ofNamed(address: string, pools: readonly FloatingPool[]): AddressDesire {
    const chosen = all.find(({ body }) => isNamed(body));
    const refusal = chosen && refusalOf(chosen);
    if (refusal !== undefined) return { ...refused(refusal.reason, refusal.message), mayMake: own !== undefined };
    // A port takes one at a time: what is on it goes first.
    const isFree = attached === undefined;
    if (chosen === undefined || isMine(chosen)) {
      if (isFree || (chosen === undefined && isMine(attached)))
        return done([floatingIp({ port: vipPortName, address, pools })], false);
      return done(chosen === undefined ? [] : [floatingIp({}, { use: { id: chosen.id, allowed: true } })], false);
    }
    const use = { id: chosen.id, allowed: true };
    const given: Want = {
      kind: networkKinds.floatingIp,
      key: 'named',
      use,
      spec: undefined,
      summary: `floating IP ${address}`,
    };
    const spec: OnVipSpec = { floatingIp: `${given.kind}/${given.key}`, revision: chosen.body.revision };
    return done(isFree ? [given, { ...onVip, needs: [spec.floatingIp], spec }] : [], false);
  }

  /** Why the named one cannot be had. */
  function refusalOf(chosen: Found<FloatingIp>): Refusal | undefined {
    const { id, body } = chosen;
    const field = `spec.loadBalancerIP: ${JSON.stringify(named)}`;
    const mark = markIn(body.description);
    const isKept = mark?.cluster === owner.cluster && isKeptFor(mark.keptFor, service);
    if (!isMine(chosen) && !isKept) {
      const access = accessTo({ what: `${field}: floating IP ${id}`, consent: consentOf(body.tags) }, desired);
      if (access.may !== 'use') return access.refusal;
    }
    if (body.portId === undefined || body.portId === vipPort) return undefined;
    return { reason: 'Conflict', message: `${field} is in use by port ${body.portId}` };
  }

  if (named !== undefined && isIP(named) !== (family === 'IPv6' ? 6 : 4)) {
    const message = `spec.loadBalancerIP: ${JSON.stringify(named)}, expected an ${family} address`;
    return { ...refused('Unsupported', message), mayMake: own !== undefined };
  }
  if (wantsVip === undefined) return done(standing());
  return wantsVip ? ofVip() : ofFloatingIp();
}

/** Where it is certain that there will be no floating IP: of one that is taken over, it shows so. */
export function showsVip({ owner, body }: Found<Vip>): boolean {
  return body.vipAddress !== '' && (owner === undefined || tagValue(body.tags, octaviaTags.address) === 'vip');
}
