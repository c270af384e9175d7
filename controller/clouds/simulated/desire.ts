import type { Desire, Found, Refusal, Want } from '../../engine/resource.ts';
import { type Access, accessTo, nameHolder, whyNotOwn } from '../access.ts';
import { sameAddress } from '../ip-address.ts';
import type { DesireInput } from '../load-balancer-driver.ts';
import { ownerTags } from '../load-balancers.ts';
import { desireAddresses } from './desire-addresses.ts';
import { kinds, listenerKey, type Part } from './found.ts';
import { readSettings } from './load-balancer-annotations.ts';
import type { Address, Listener, LoadBalancer, Pool, Scheme } from './load-balancer-answer.ts';
import type { MemberSets } from './member-sets.ts';
import type { ListenerSpec, LoadBalancerSpec, PoolSpec } from './specs.ts';

const ownName = `${kinds.loadBalancer}/main`;
const hostName = `${kinds.loadBalancer}/host`;

/** The resources that serve a Service: a load balancer of its own, or parts of one that others made. Pure. */
export function desireOf(input: DesireInput, sets: MemberSets): Desire {
  const { desired } = input;
  const { attach, service } = desired;
  const settings = readSettings(desired);
  const own = input.own();
  const bodies = <B>(found: readonly Found[], kind: string) =>
    found.flatMap((one) => (one.kind === kind ? [one.body as B] : []));
  const balancerOf = (id: string) => input.get(kinds.loadBalancer, id)?.body as LoadBalancer | undefined;
  const listeners = bodies<Part<Listener>>(own, kinds.listener);
  const pools = bodies<Part<Pool>>(own, kinds.pool);
  const ownIds = new Set(own.map(({ id }) => id));
  const isOurs = ({ id }: { readonly id: string }) => ownIds.has(id);
  const served = (id: string) => listeners.filter((one) => one.within.id === id);
  const withParts = new Set([...pools, ...listeners].map(({ within }) => within.id));
  const mine = bodies<LoadBalancer>(own, kinds.loadBalancer);
  const current = mine.find(({ name }) => name === desired.name) ?? mine[0];
  const hosts = [...withParts].flatMap((id) => (ownIds.has(id) ? [] : (balancerOf(id) ?? [])));

  const refusals: Refusal[] = [...settings.refusals, ...nonMembers()];
  const addresses = desireAddresses({
    desired,
    current,
    isOurs,
    refusals,
    all: () => bodies<Address>(input.found(kinds.address), kinds.address),
    get: (id) => input.get(kinds.address, id)?.body as Address | undefined,
    own: bodies<Address>(own, kinds.address),
  });
  const refuse = (reason: Refusal['reason'], message: string) => refusals.push({ reason, message });

  function nonMembers(): Refusal[] {
    const sent = new Set(sets.of(desired.members).wire.map(({ instanceId }) => instanceId));
    return desired.members.flatMap(({ node, providerID }): Refusal[] => {
      if (sent.has(providerID.slice(providerID.lastIndexOf('/') + 1))) return [];
      const message = `member ${node}: providerID ${JSON.stringify(providerID)} is of another place`;
      return [{ reason: 'Unsupported', message }];
    });
  }

  if (attach === undefined || attach.id === current?.id) {
    const [used] = hosts;
    if (attach === undefined && current === undefined && used !== undefined && !desired.mayChangeAddress) {
      const what = `load balancer ${used.name} (${used.id}) serves ${service} and is not provably its own`;
      refuse('AddressWouldChange', `${what}; one of its own has another address`);
      return done(partsIn(used, accessOf(used).may === 'use'));
    }
    return done(ofItsOwn());
  }
  const target = balancerOf(attach.id);
  if (target === undefined || target.state === 'deleting') {
    refuse('Unsupported', `load balancer ${JSON.stringify(attach.id)} does not exist in this region`);
    return done(instead());
  }
  const access = accessOf(target, attach.allowed);
  if (access.may !== 'use') refusals.push(access.refusal);
  if (access.may === 'nothing') return done(instead());
  const elsewhere = current ?? hosts.find((one) => one !== target);
  if (elsewhere !== undefined && !desired.mayChangeAddress && served(target.id).length === 0) {
    refuse('AddressWouldChange', `${service} uses load balancer ${elsewhere.id}, and ${target.id} has another address`);
    return done(instead());
  }
  const { address } = desired;
  if (address !== undefined && !target.addresses.some(({ ip }) => sameAddress(ip, address)))
    refuse(
      'Unsupported',
      `spec.loadBalancerIP: ${JSON.stringify(address)} is no address of load balancer ${target.id}`,
    );
  const lacking = desired.families.filter((family) => !target.addresses.some((one) => one.family === family));
  if (lacking.length > 0)
    refuse('Unsupported', `spec.ipFamilies: load balancer ${target.id} has no ${lacking.join(', ')} address`);
  return done(partsIn(target, access.may === 'use'));

  function done(wants: readonly Want[]): Desire {
    return { wants, refusals };
  }

  function accessOf({ id, tags }: LoadBalancer, allowed?: boolean): Access {
    const consent = tags[ownerTags.consent];
    return accessTo(
      { what: `load balancer ${id}`, consent, served: served(id), ...(allowed !== undefined && { allowed }) },
      desired,
    );
  }

  /** What it has goes on, where what it asks for is refused. */
  function instead(): readonly Want[] {
    if (current !== undefined) return ofItsOwn();
    const [used] = hosts;
    return used === undefined ? addresses.kept() : partsIn(used, false);
  }

  function partsIn(there: LoadBalancer, mayAdd: boolean): readonly Want[] {
    const use: Want = {
      kind: kinds.loadBalancer,
      key: 'host',
      use: { id: there.id, allowed: true },
      spec: undefined,
      summary: `load balancer ${there.name}`,
    };
    return [use, ...partsOf(hostName, there, mayAdd)];
  }

  /** The pool and the listeners. What is not understood keeps them from being made, not from being kept up to date. */
  function partsOf(within: string, there: LoadBalancer | undefined, mayAdd: boolean): readonly Want[] {
    const { healthCheck, proxyProtocol, tls } = settings;
    const hasPool = there !== undefined && pools.some((one) => one.within.id === there.id);
    if (!hasPool && !(mayAdd && healthCheck !== undefined)) return [];
    const members = settings.nodeLabels === undefined ? undefined : sets.of(desired.members);
    const pool: Want<PoolSpec> = {
      kind: kinds.pool,
      key: 'main',
      within,
      slot: `{within} pool ${desired.name}`,
      summary: 'pool',
      spec: { name: desired.name, service, healthCheck, sessionAffinity: desired.sessionAffinity, members },
    };
    const isUnderstood = mayAdd && proxyProtocol !== undefined && tls !== undefined;
    const listeners = desired.ports.flatMap((port): Want<ListenerSpec>[] => {
      const key = listenerKey(port);
      const held = input.holderOf(`${there?.id} ${key}`)?.body as Part<Listener> | undefined;
      const isForeign = held !== undefined && !isOurs(held);
      if (held !== undefined && isForeign) {
        const holder = nameHolder(held.tags[ownerTags.serviceName], desired);
        const where = `load balancer ${there?.name} (${there?.id})`;
        const message = `${key} of ${where} is taken by listener ${held.id} of ${holder}`;
        refusals.push({ reason: 'Conflict', message, ports: [port] });
      }
      if (isForeign || (held === undefined && !isUnderstood)) return [];
      const isTcp = port.protocol === 'TCP';
      const spec: ListenerSpec = {
        name: port.name || `${port.protocol.toLowerCase()}-${port.port}`,
        service,
        pool: `${kinds.pool}/main`,
        protocol: port.protocol,
        port: port.port,
        sourceRanges: desired.sourceRanges,
        // Without a node port, the members get what came in on its own port.
        memberPort: port.nodePort === 0 ? port.port : port.nodePort,
        proxyProtocol: isTcp ? proxyProtocol : false,
        tls: isTcp ? tls?.has(port.port) : false,
      };
      const more = { within, needs: [spec.pool], slot: `{within} ${key}`, ports: [port], summary: `listener ${key}` };
      return [{ kind: kinds.listener, key, ...more, spec }];
    });
    return [pool, ...listeners];
  }

  function ofItsOwn(): readonly Want[] {
    const inTheWay = input.holderOf(`name ${desired.name}`)?.body as LoadBalancer | undefined;
    if (current === undefined && inTheWay !== undefined && inTheWay.state !== 'deleting') {
      const { id, name, tags } = inTheWay;
      const why = whyNotOwn(desired, tags[ownerTags.retained] !== undefined);
      refuse('ForeignLoadBalancer', `load balancer ${id} has the name ${name}, and ${why}`);
      return addresses.kept();
    }
    const scheme = schemeOf();
    if (scheme === undefined) return addresses.kept();
    const placed = addresses.placedIn(scheme);
    if (placed === undefined) return addresses.kept();
    const spec: LoadBalancerSpec = {
      name: desired.name,
      service,
      scheme,
      families: desired.families,
      addresses: Object.fromEntries([...placed].map(([family, want]) => [family, `${want.kind}/${want.key}`])),
    };
    const needs = [...placed.values()].map(({ kind, key }) => `${kind}/${key}`);
    const loadBalancer: Want<LoadBalancerSpec> = {
      kind: kinds.loadBalancer,
      key: 'main',
      needs,
      slot: `name ${desired.name}`,
      spec,
      summary: `${scheme} load balancer ${desired.name} for ${service}`,
      // One that has failed is made again, unless that would cost it an address that the Service does not name.
      ...(addresses.isLost && { carriesAddress: true }),
    };
    return [...placed.values(), loadBalancer, ...partsOf(ownName, current, true)];
  }

  /** Undefined: nothing is made. */
  function schemeOf(): Scheme | undefined {
    const { scheme } = settings;
    if (current === undefined) return settings.refusals.length > 0 ? undefined : scheme;
    const change = addressChange(scheme ?? current.scheme);
    if (change === undefined || settings.refusals.length > 0) return current.scheme;
    if (desired.mayChangeAddress) return scheme;
    refuse('AddressWouldChange', `load balancer ${current.name} (${current.id}): ${change}`);
    return current.scheme;
  }

  /** Why what is asked for has another address than the load balancer that is there. */
  function addressChange(scheme: Scheme): string | undefined {
    if (current === undefined) return undefined;
    if (scheme !== current.scheme) return `from ${current.scheme} to ${scheme}`;
    const ips = current.addresses.map(({ ip }) => ip);
    const { address } = desired;
    if (address === undefined || ips.some((ip) => sameAddress(ip, address))) return undefined;
    // With another family than those it has, the named address can join.
    const named = addresses.named();
    if (named !== undefined && !current.addresses.some(({ family }) => family === named.family)) return undefined;
    return `from ${ips.join(', ')} to ${address}, which spec.loadBalancerIP names`;
  }
}
