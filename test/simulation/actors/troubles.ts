import type { Clock } from '../../../common/process/clock.ts';
import type { SimulatedCloud } from '../../kit/cloud/cloud.ts';
import { quotaKinds } from '../../kit/cloud/quotas.ts';
import type { KubeApiCore } from '../../kit/kube-api/kube-api-core.ts';
import type { Dice } from '../engine/dice.ts';
import type { Fleet } from '../engine/fleet.ts';

export interface Troubles {
  /** Something that befalls processes, the API server or the cloud as a whole; answers what, for the trace. */
  act(): string;
}

/** Troubles that last: outages, wrong credentials, clocks that jump, processes that stop, history that is forgotten. */
export function createTroubles(parts: {
  readonly clock: Clock;
  readonly core: KubeApiCore;
  readonly cloud: SimulatedCloud;
  readonly fleet: Fleet;
  readonly dice: Dice;
  readonly wildClocks: boolean;
  readonly count: (site: string, kind: string) => void;
}): Troubles {
  const { clock, core, cloud, fleet, dice, count } = parts;

  function credentials(): string {
    const mode = dice.pick(['unauthorized', 'forbidden', 'sees-nothing', 'sees-nothing'] as const);
    cloud.credentials.setMode(cloud.credential, mode);
    clock.setTimer(dice.between(5000, 90_000), () => cloud.credentials.setMode(cloud.credential, 'ok'));
    count('world credentials', mode);
    return `the credential is ${mode}`;
  }

  function outage(): string {
    const place = dice.pick(fleet.places);
    const lasts = dice.between(3000, 40_000);
    if (dice.chance(0.5)) {
      place.outage.kube = dice.pick(['lost request', 'timeout', 'lost answer', 'server error', 'throttled'] as const);
      count('world API server unreachable', place.outage.kube);
      clock.setTimer(lasts, () => {
        place.outage.kube = undefined;
      });
      return `the API server gives ${place.name} ${place.outage.kube}`;
    }
    place.outage.cloud = dice.pick([
      'lost request',
      'timeout',
      'server error',
      'throttled',
      'empty answer',
      'slow',
    ] as const);
    count('world cloud unreachable', place.outage.cloud);
    clock.setTimer(lasts, () => {
      place.outage.cloud = undefined;
    });
    return `the cloud gives ${place.name} ${place.outage.cloud}`;
  }

  /** There is room for what is there, and for no more. */
  function quota(): string {
    const kind = dice.pick(quotaKinds);
    const { addresses, loadBalancers, routes } = cloud.network;
    const used = { addresses, 'load-balancers': loadBalancers, routes }[kind].store.all().length;
    cloud.network.quotas.set(kind, used + dice.whole(0, 1));
    clock.setTimer(dice.between(10_000, 90_000), () => cloud.network.quotas.set(kind, undefined));
    count('world quota', kind);
    return `the quota of ${kind} is ${used} or one more`;
  }

  return {
    act() {
      const drawn = dice.random();
      const place = dice.pick(fleet.places);
      const special = dice.random();
      if (special < 0.06) return quota();
      if (special < 0.1 && fleet.deleteLease()) {
        count('world lease', 'deleted');
        return 'a person deletes the Lease';
      }
      if (drawn < 0.15) return credentials();
      if (drawn < 0.4) return outage();
      if (drawn < 0.5) {
        count('world process', 'crash');
        fleet.crash(place);
        return `${place.name} crashes`;
      }
      if (drawn < 0.6) {
        count('world process', 'stop');
        fleet.stop(place);
        return `${place.name} is told to stop`;
      }
      if (drawn < 0.75) {
        const kind = fleet.pause(place);
        count('world process', `pause ${kind ?? ''}`);
        return `${place.name} is ${kind ?? 'not there'}`;
      }
      if (drawn < 0.87) {
        const largest = parts.wildClocks ? 900_000 : 2000;
        fleet.stepWall(place, dice.between(-largest, largest));
        count('world process', 'wall clock jumps');
        return `the wall clock of ${place.name} jumps`;
      }
      if (drawn < 0.95) {
        core.endWatches({ userAgent: 'mooring' });
        count('world API server', 'all watches cut');
        return 'all watches are cut';
      }
      core.compact();
      core.endWatches({ userAgent: 'mooring' });
      count('world API server', 'history forgotten');
      return 'the API server forgets its history';
    },
  };
}
