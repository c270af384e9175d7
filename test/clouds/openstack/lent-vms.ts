import { sleep, systemClock } from '../../../common/process/clock.ts';
import type { CloudVm, CloudWorld } from '../suite/world.ts';

/**
 * Servers are created once and lent to one fact after another. Operations end much sooner here than a client has to
 * expect. Routes are left out: others may work on the same router.
 */
export function withLentVms(inner: CloudWorld): CloudWorld {
  const free: CloudVm[] = [];
  const lent = new Map<string, CloudVm>();
  const clock = systemClock();
  return {
    ...inner,
    async createVm() {
      const vm = free.pop() ?? (await inner.createVm());
      lent.set(vm.providerID, vm);
      return vm;
    },
    async deleteVm(providerID) {
      const vm = lent.get(providerID);
      lent.delete(providerID);
      if (vm) free.push(vm);
    },
    inventory: async () => (await inner.inventory()).filter(({ kind }) => kind !== 'route'),
    pass: (ms) => sleep(clock, Math.min(ms, 250)),
  };
}
