import type { Clock } from '../../../common/process/clock.ts';
import type { Random } from '../../../common/process/random.ts';
import { type AddressModel, type AddressPlan, createAddressModel } from './address-model.ts';
import { placeKey } from './geography.ts';
import { createLoadBalancerModel, type LoadBalancerModel, type LoadBalancerTimings } from './load-balancer-model.ts';
import { memberRules } from './member-rules.ts';
import type { CloudModel } from './model.ts';
import { isEnding } from './power.ts';
import { type Quotas, quotas } from './quotas.ts';
import { createRouteModel, type RouteModel } from './route-model.ts';
import { createVolumeModel, type VolumeModel } from './volumes.ts';

/** What a cloud has beside its VMs. A place is `project/region`. */
export interface Network {
  readonly addresses: AddressModel;
  readonly loadBalancers: LoadBalancerModel;
  readonly routes: RouteModel;
  readonly volumes: VolumeModel;
  readonly quotas: Quotas;
  close(): void;
}

export interface NetworkOptions {
  /** Of load balancers. Default: everything is immediate. */
  readonly loadBalancerTimings?: Partial<LoadBalancerTimings>;
  /** Default: addresses of documentation and benchmarks, which lead nowhere. */
  readonly addressPlan?: AddressPlan;
}

export interface NetworkParts extends NetworkOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly model: CloudModel;
  readonly historyMs: number;
}

export function createNetwork(parts: NetworkParts): Network {
  const { clock, random, model, historyMs, loadBalancerTimings: timings, addressPlan } = parts;
  const limits = quotas();
  const common = { clock, random, quotas: limits, historyMs };

  function serves(place: string, instanceId: string): boolean {
    const instance = model.get(instanceId);
    if (!instance || placeKey(instance.project, instance.region) !== place) return false;
    return !isEnding(instance.power);
  }

  const addresses = createAddressModel({ ...common, addressPlan });
  const members = memberRules(serves);
  const loadBalancers = createLoadBalancerModel({ ...common, addresses, members, timings });
  return {
    addresses,
    loadBalancers,
    routes: createRouteModel({ ...common, serves }),
    volumes: createVolumeModel(),
    quotas: limits,
    close: () => loadBalancers.close(),
  };
}
