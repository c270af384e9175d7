import { isIP } from 'node:net';
import { type Desire, type Found, nameOf, type Refusal, type Want } from '../../../engine/resource.ts';
import { type Access, accessTo } from '../../access.ts';
import type { DesireInput } from '../../load-balancer-driver.ts';
import type { LoadBalancerConfig } from '../load-balancer-config.ts';
import { desireAddress } from '../network/desire-address.ts';
import { desireGroup } from '../network/desire-group.ts';
import { floatingAddressAt } from '../network/floating-ip.ts';
import type { NetworkFacts } from '../network/network-facts.ts';
import { keys } from './annotations.ts';
import { desirePorts } from './desire-ports.ts';
import { featuresOf } from './features.ts';
import { classicName, classicPrefix, loadBalancerDescription } from './names.ts';
import type { Listener, LoadBalancer } from './octavia-answer.ts';
import { memberRefusals, type ServiceRequest } from './port-parts.ts';
import { octaviaKinds, portKey, transportOf } from './resources.ts';
import { readSettings } from './settings.ts';
import type { LoadBalancerSpec } from './specs.ts';
import { consentOf } from './tags.ts';

export interface DesireParts {
  readonly config: LoadBalancerConfig;
  /** Of the API, as far as it has been asked. */
  minor(): number | undefined;
  facts(): NetworkFacts | undefined;
  readonly serverIdOf: (providerID: string) => string | undefined;
}

const ownName = `${octaviaKinds.loadBalancer}/main`;
const hostName = `${octaviaKinds.loadBalancer}/host`;

/** The resources that serve a Service: a load balancer of its own, or parts of one that others made. Pure. */
export function desireOf(input: DesireInput, parts: DesireParts): Desire {
  const { desired } = input;
  const { service, attach } = desired;
  const { config, serverIdOf } = parts;
  // What has no key may belong to another owner.
  const own = input.own().filter(({ key }) => key !== undefined);
  const mine = new Set(own);
  const balancers = input.found(octaviaKinds.loadBalancer) as readonly Found<LoadBalancer>[];
  const listeners = (input.found(octaviaKinds.listener) as readonly Found<Listener>[]).filter((one) => mine.has(one));
  const current = currentOf(own, desired.record?.id);
  const withParts = new Set(own.flatMap(({ kind, within }) => (kind in partKinds ? [within] : [])));
  const hosts = balancers.filter((one) => !mine.has(one) && withParts.has(one.id));
  const target =
    attach === undefined ? undefined : balancers.find(({ id, status }) => id === attach.id && status !== 'deleting');
  const isLeaving = attach === undefined && desired.mayChangeAddress;
  const main = (target ?? current ?? (isLeaving ? undefined : hosts[0]))?.body;
  const features = featuresOf(parts.minor(), main?.provider || config.provider);
  const settings = readSettings(desired, { config, features });
  const request: ServiceRequest = { desired, settings, features, config, serverIdOf };
  const facts = parts.facts();
  const { networkId, subnetId } = settings.placement ?? {};
  const isNamed = Boolean(subnetId || settings.portId || desired.address);
  // Octavia takes an IPv4 subnet of the network where it may choose.
  const isOpen = networkId !== undefined && !isNamed && settings.family === 'IPv6';
  const ofNetwork = isOpen && facts?.subnets.find((one) => one.networkId === networkId && one.version === 6);
  const vipSubnetId = ofNetwork ? ofNetwork.id : subnetId;
  const refusals: Refusal[] = [...settings.refusals, ...settings.remarks];
  refusals.push(...memberRefusals(request));
  const refuse = (reason: Refusal['reason'], message: string) => void refusals.push({ reason, message });
  const served = (id: string) =>
    listeners
      .filter(({ within }) => within === id)
      .map(({ body: { port, protocol } }) => ({ port, protocol: transportOf(protocol) }));

  if (attach === undefined || attach.id === current?.id) {
    const [used] = hosts;
    if (attach === undefined && current === undefined && used !== undefined && !desired.mayChangeAddress) {
      const whose = `uses load balancer ${used.id}, which is foreign`;
      refuse('AddressWouldChange', `${service} ${whose}; one of its own has another address`);
      return done(partsIn(used, accessOf(used).may === 'use'));
    }
    return done(ofItsOwn());
  }
  if (target === undefined) {
    refuse('Unsupported', `load balancer ${JSON.stringify(attach.id)} does not exist in this project`);
    return done(instead());
  }
  const access = accessOf(target, attach.allowed);
  if (access.may !== 'use') refusals.push(access.refusal);
  if (access.may === 'nothing') return done(instead());
  const elsewhere = current ?? hosts.find((one) => one !== target);
  const joins = served(target.id).length === 0;
  if (elsewhere !== undefined && !desired.mayChangeAddress && joins) {
    refuse('AddressWouldChange', `${service} uses load balancer ${elsewhere.id}, and ${target.id} has another address`);
    return done(instead());
  }
  if (target.status === 'failed') {
    refuse('Conflict', `load balancer ${target.id} is in ${target.body.status}; who made it has to mend it`);
    return done(standing());
  }
  const others = sharersOf(target);
  if (joins && others + 1 > config.maxShared) {
    const limit = `max-shared-lb of the cloud config is ${config.maxShared}`;
    refuse('Conflict', `load balancer ${target.id} serves ${others} Services already; ${limit}`);
    return done(instead());
  }
  refuseOnShared(target);
  const there = partsIn(target, access.may === 'use');
  // What it has of its own stays until all is served elsewhere.
  return done(elsewhere !== undefined && refusals.some(({ ports }) => ports !== undefined) ? instead() : there);

  function done(wants: readonly Want[]): Desire {
    return { wants, refusals: [...new Map(refusals.map((one) => [one.message, one])).values()] };
  }

  function accessOf({ id, body }: Found<LoadBalancer>, allowed?: boolean): Access {
    const consent = consentOf(body.tags);
    const request = { what: `load balancer ${id}`, consent, served: served(id) };
    return accessTo({ ...request, ...(allowed !== undefined && { allowed }) }, desired);
  }

  /** What it has goes on, where what it asks for is refused. */
  function instead(): readonly Want[] {
    if (current !== undefined) {
      // Its provider may be another than that of the target.
      const own = desireOf({ ...input, desired: { ...desired, attach: undefined } }, parts);
      refusals.push(...own.refusals);
      return own.wants;
    }
    const [used] = hosts;
    return used === undefined ? standing() : partsIn(used, false);
  }

  /** Everything of this Service as it stands. */
  function standing(): readonly Want[] {
    const names = new Map<string, string>();
    for (const { kind, id, key } of own) names.set(`${kind} ${id}`, `${kind}/${key}`);
    const used = target ?? hosts[0];
    const containerOf = ({ kind, within }: Found) => {
      if (within === undefined) return undefined;
      if (kind === 'floating IP on VIP') return names.get(`${octaviaKinds.vipPort} ${within}`);
      return names.get(`${octaviaKinds.loadBalancer} ${within}`) ?? (used?.id === within ? hostName : undefined);
    };
    const kept = own.flatMap((one): Want[] => {
      const within = containerOf(one);
      if (one.key === undefined || (one.within !== undefined && within === undefined)) return [];
      const name = { kind: one.kind, key: one.key, ...(within !== undefined && { within }) };
      return [{ ...name, leaveUnchanged: true, spec: undefined, summary: `${one.kind} ${one.key}` }];
    });
    const unique = [...new Map(kept.map((one) => [nameOf(one), one])).values()];
    return unique.some(({ within }) => within === hostName) && used !== undefined ? [useOf(used), ...unique] : unique;
  }

  function useOf({ id, body: { name } }: Found<LoadBalancer>): Want {
    const use = { id, allowed: true };
    return { kind: octaviaKinds.loadBalancer, key: 'host', use, spec: undefined, summary: `load balancer ${name}` };
  }

  function partsIn(host: Found<LoadBalancer>, mayAdd: boolean): readonly Want[] {
    const { name } = host.body;
    const ports = desirePorts({ request, input, mine, within: hostName, name, there: host, mayAdd });
    refusals.push(...ports.refusals);
    return [useOf(host), ...ports.wants, ...groupOn(host, ports.wants)];
  }

  function groupOn(loadBalancer: Found<LoadBalancer> | undefined, wants: readonly Want[]): readonly Want[] {
    const there = loadBalancer?.body.vipSubnetId || undefined;
    const listened = new Set(wants.flatMap(({ kind, key }) => (kind === octaviaKinds.listener ? [key] : [])));
    const ports = desired.ports.filter((port) => listened.has(portKey(port)));
    const refused = new Set(desired.ports.map(portKey).filter((key) => !listened.has(key)));
    const isUnmarked = ({ within, owner, body }: Found<Listener>) =>
      within === loadBalancer?.id &&
      owner === undefined &&
      refused.has(portKey(body)) &&
      !body.tags.some((one) => one.startsWith(classicPrefix));
    // A listener that has lost its tags may be the Service's own, and serves on.
    const mayClose = !(input.found(octaviaKinds.listener) as readonly Found<Listener>[]).some(isUnmarked);
    const context = { input, ports, mayClose, settings, features, facts, config, vipSubnetId: there, serverIdOf };
    return desireGroup(context);
  }

  function ofItsOwn(): readonly Want[] {
    if (settings.namedId !== undefined && settings.namedId !== current?.id) {
      const instead = 'to use that one, name it in mooring.dev/load-balancer-id, otherwise take the annotation away';
      refuse(
        'Unsupported',
        `${keys.loadBalancerId}: ${JSON.stringify(settings.namedId)} is not its own load balancer; ${instead}`,
      );
      if (current === undefined) return standing();
    }
    if (current !== undefined) refuseOtherFamily(current);
    const address = desireAddress({ input, settings, facts, own: current });
    refusals.push(...address.refusals);
    const mayMake = settings.refusals.length === 0 && settings.placement !== undefined && address.mayMake && isPlaced();
    // Something else than what was meant is not made, and nothing goes for it.
    if (!mayMake && current === undefined) return standing();
    if (!mayMake && current?.status === 'failed') {
      const names = new Set(address.wants.map(nameOf));
      return [...standing().filter((one) => !names.has(nameOf(one))), ...address.wants];
    }
    const name = current?.body.name ?? classicName(desired);
    const ports = desirePorts({ request, input, mine, within: ownName, name, there: current, mayAdd: true });
    refusals.push(...ports.refusals);
    const spec = loadBalancerSpec(address.vip);
    const shown = desired.ports.map(({ protocol, port }) => `${protocol} ${port}`).join(', ');
    const loadBalancer: Want<LoadBalancerSpec> = {
      kind: octaviaKinds.loadBalancer,
      key: 'main',
      spec,
      alsoAccepted: [{ ...spec, isClassic: true }],
      // One in ERROR is made again, unless that would cost it an address that is shown.
      ...(current?.status === 'failed' && !address.survives && { carriesAddress: true }),
      summary:
        `${address.vip ? 'internal ' : ''}load balancer ${name} for ${service}: ${shown}; ` +
        `${desired.members.length} members`,
    };
    const vipPort: Want = {
      kind: octaviaKinds.vipPort,
      key: 'main',
      within: ownName,
      spec: undefined,
      summary: `port of the VIP of ${name}`,
    };
    return [loadBalancer, vipPort, ...ports.wants, ...address.wants, ...groupOn(current, ports.wants)];
  }

  /** Refused where there is no subnet for the VIP. */
  function isPlaced(): boolean {
    const unset = `${keys.subnetId} and subnet-id of the cloud config are not set`;
    if (current !== undefined) return true;
    if (isOpen && vipSubnetId === undefined) {
      const none = `this project sees no IPv6 subnet of network ${networkId}`;
      refuse('Unsupported', `spec.ipFamilies: no subnet for the VIP: ${none}, and ${unset}`);
      return false;
    }
    if (networkId || subnetId || settings.portId || near().length > 0) return true;
    refuse('Unsupported', `no subnet for the VIP: ${unset}, and there is no member in whose subnet it could be`);
    return false;
  }

  function near(): LoadBalancerSpec['near'] {
    return desired.members
      .flatMap(({ providerID, addresses }) =>
        addresses.map((address) => ({ server: serverIdOf(providerID) ?? '', address })),
      )
      .filter(({ server, address }) => server !== '' && address.includes(':') === (settings.family === 'IPv6'))
      .slice(0, 5);
  }

  function loadBalancerSpec(vip: boolean | undefined): LoadBalancerSpec {
    const isVip = settings.family === 'IPv6' || settings.internal === true;
    return {
      name: classicName(desired),
      description: loadBalancerDescription(desired),
      service,
      provider: features.provider,
      isClassic: false,
      vip,
      flavorId: settings.flavorId || (features.flavor ? config.flavorId : undefined),
      availabilityZone: settings.availabilityZone || (features.availabilityZone ? config.availabilityZone : undefined),
      vipAddress: isVip ? desired.address : undefined,
      vipPortId: settings.portId || undefined,
      placement: { ...(networkId && { networkId }), ...(vipSubnetId && { subnetId: vipSubnetId }) },
      near: near(),
      hostname: settings.hostname,
    };
  }

  /** What its owner decides. */
  function refuseOnShared(host: Found<LoadBalancer>): void {
    const { id, body } = host;
    if (settings.internal && !config.internal)
      refuse('Unsupported', `${keys.internal}: "true": the address of a shared load balancer is its owner's`);
    if (settings.hostname)
      refuse('Unsupported', `${keys.hostname}: ${JSON.stringify(settings.hostname)}: not on a shared load balancer`);
    const shown = floatingAddressAt(body.vipPortId, input.found('floating IP')) ?? body.vipAddress;
    if (desired.address !== undefined && shown !== desired.address) {
      const field = `spec.loadBalancerIP: ${JSON.stringify(desired.address)}`;
      refuse('Unsupported', `${field} is no address of load balancer ${id}`);
    }
    refuseOtherFamily(host);
  }

  function refuseOtherFamily({ id, body }: Found<LoadBalancer>): void {
    if (isIP(body.vipAddress) === (settings.family === 'IPv6' ? 4 : 6))
      refuse('Unsupported', `spec.ipFamilies: load balancer ${id} has no ${settings.family} address`);
  }

  /** How many other Services use it, by the classic controller's tags, which our listeners carry, too. */
  function sharersOf(host: Found<LoadBalancer>): number {
    const all = input.found(octaviaKinds.listener) as readonly Found<Listener>[];
    const tags = [host.body.tags, ...all.flatMap(({ within, body }) => (within === host.id ? [body.tags] : []))].flat();
    const names = new Set(tags.filter((one) => one.startsWith(classicPrefix)));
    names.delete(classicName(desired));
    return names.size;
  }
}

const partKinds: Readonly<Record<string, true>> = { [octaviaKinds.listener]: true, [octaviaKinds.pool]: true };

/** The recorded one; of several the one that does not go, then the one that shows an address. */
function currentOf(mine: readonly Found[], recorded: string | undefined): Found<LoadBalancer> | undefined {
  const all = mine.filter(({ kind }) => kind === octaviaKinds.loadBalancer) as readonly Found<LoadBalancer>[];
  const there = all.filter(({ status }) => status !== 'deleting');
  const shown = there.find(({ address }) => address !== undefined);
  return there.find(({ id }) => id === recorded) ?? shown ?? there[0] ?? all[0];
}
