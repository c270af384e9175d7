import type { World } from '../kit/world/world.ts';

/**
 * Lets kubelet and agent of a VM end and start with its power, however that was changed: the page, the console of the
 * cloud. The scenarios of the tour do this themselves.
 *
 * @param say called when a machine could not follow
 * @returns a function that ends it
 */
export function followPower(world: World, say: (line: string) => void): () => void {
  return world.cloud.model.onChange(({ before, after }) => {
    const vm = after ?? before;
    if (vm === undefined || !world.kubelets.has(vm.name)) return;
    const had = before?.power === 'running';
    const has = after?.power === 'running';
    if (had === has) return;
    const done = has
      ? world.kubelets
          .get(vm.name)!
          .start()
          .then(() => world.agents.restart(vm))
      : world.powerLoss(vm.name);
    done.catch((error: unknown) => say(`${vm.name} did not follow its power: ${String(error)}`));
  });
}
