import type { Found, Refusal, Want } from '../../../engine/resource.ts';
import { nameHolder } from '../../access.ts';
import type { DesireInput } from '../../load-balancer-driver.ts';
import type { DesiredPort } from '../../load-balancers.ts';
import { classicPrefix, serviceOfClassicName } from './names.ts';
import type { Listener, LoadBalancer, Pool } from './octavia-answer.ts';
import { listenerProtocol, listenerSpec, poolProtocol, poolSpec, type ServiceRequest } from './port-parts.ts';
import { octaviaKinds, poolKey, portKey } from './resources.ts';
import type { ListenerSpec, PoolSpec } from './specs.ts';

export interface PortsPlace {
  readonly request: ServiceRequest;
  readonly input: DesireInput;
  /** What of all that is found is this Service's. */
  readonly mine: ReadonlySet<Found>;
  /** `load balancer/main`, or one of others. */
  readonly within: string;
  readonly name: string;
  /** Undefined: it is about to be made. */
  readonly there: Found<LoadBalancer> | undefined;
  /** Whether new parts may join. */
  readonly mayAdd: boolean;
}

/**
 * The listeners and pools of a Service on a load balancer. What is not understood keeps things from being made, not
 * from being kept up to date. Pure.
 */
export function desirePorts(place: PortsPlace): {
  readonly wants: readonly Want[];
  readonly refusals: readonly Refusal[];
} {
  const { request, input, mine, within, name, there, mayAdd } = place;
  const { desired, settings, features } = request;
  const refusals: Refusal[] = [];
  const on = <B>(kind: string) =>
    (input.found(kind) as readonly Found<B>[]).filter((one) => there !== undefined && one.within === there.id);
  const listeners = on<Listener>(octaviaKinds.listener);
  const pools = on<Pool>(octaviaKinds.pool).filter((one) => mine.has(one));
  const mayMake = mayAdd && settings.refusals.length === 0;
  const vipSubnetId = there?.body.vipSubnetId || undefined;

  function wantsOf(port: DesiredPort): readonly Want[] {
    const key = portKey(port);
    const held = listeners.find((one) => portKey(one.body) === key);
    if (held !== undefined && !mine.has(held)) {
      const classic = held.body.tags.find((one) => one.startsWith(classicPrefix));
      const holder = nameHolder(serviceOfClassicName(classic ?? ''), desired);
      const message = `${key} of load balancer ${name} (${there?.id}) is taken by listener ${held.id} of ${holder}`;
      refusals.push({ reason: 'Conflict', message, ports: [port] });
      return [];
    }
    const current = pools.find(({ id }) => id === held?.body.poolId);
    const protocol = mayMake ? listenerProtocol(request, port) : held?.body.protocol;
    const inner = mayMake ? poolProtocol(request, port) : current?.body.protocol;
    if (port.protocol === 'SCTP' && !features.sctp) return held === undefined ? [] : [standing(held)];
    if (protocol === undefined || inner === undefined) return held === undefined ? [] : [standing(held)];
    const pool = current?.body.protocol === inner ? current : undefined;
    const ownKey = pool?.key ?? poolKey(port, inner);
    const known = pools.find((one) => one.key === ownKey);
    const spec = poolSpec(request, port, { name, protocol: inner, there: known?.body, vipSubnetId });
    const poolName = `${octaviaKinds.pool}/${ownKey}`;
    const poolWant: Want<PoolSpec> = {
      kind: octaviaKinds.pool,
      key: ownKey,
      within,
      ports: [port],
      spec,
      summary: `pool ${spec.name} (${inner}) of ${name}`,
    };
    const listener: Want<ListenerSpec> = {
      kind: octaviaKinds.listener,
      key,
      within,
      needs: [poolName],
      slot: `{within} ${key}`,
      ports: [port],
      spec: listenerSpec(request, port, protocol, { name, pool: poolName }),
      summary: `listener ${key} (${protocol}) of ${name}`,
    };
    return [poolWant, listener];
  }

  /** The listener and its pool. */
  function standing(held: Found<Listener>): Want {
    const summary = `listener ${held.key} of ${name}`;
    return { kind: octaviaKinds.listener, key: held.key!, within, leaveUnchanged: true, spec: undefined, summary };
  }

  const wants = desired.ports.flatMap(wantsOf);
  return { wants, refusals };
}
