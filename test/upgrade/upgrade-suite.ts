import { after, before, describe, it } from 'node:test';
import type { ClusterCloud, OpenCloud } from '../clouds/life/life-cloud.ts';
import { type LifeStage, type LifeStageOptions, openLifeStage } from '../clouds/life/life-stage.ts';
import { createStep } from '../clouds/life/service-steps.ts';
import { previousRelease, thisRelease } from './releases.ts';
import { furtherStep, lessStep, swapStep } from './swap-steps.ts';

/** At least two Services: the same annotations twice where the cloud has one kind. */
const withServices =
  (open: OpenCloud<ClusterCloud>): OpenCloud<ClusterCloud> =>
  async () => {
    const cloud = await open();
    const { services = { web: {} } } = cloud;
    const [first = {}] = Object.values(services);
    return { ...cloud, services: { again: first, ...services } };
  };

/**
 * The previous release, this one and the previous one again, as built, on one cloud.
 *
 * @param title of the cloud, as in `an upgrade and the way back, on TITLE`
 */
export function upgradeSuite(
  title: string,
  open: OpenCloud<ClusterCloud>,
  options: Pick<LifeStageOptions, 'waitMs'> = {},
): void {
  describe(`an upgrade and the way back, on ${title}`, { concurrency: 1 }, () => {
    let stage: LifeStage<ClusterCloud> | undefined;
    const [previous, current] = [previousRelease(), thisRelease()];
    before(async () => {
      stage = await openLifeStage([withServices(open)], { ...options, members: 2, program: [previous.controller] });
    });
    after(() => stage?.close());
    const steps = [
      { ...createStep, title: 'has Nodes and Services by the previous release' },
      swapStep(current),
      furtherStep,
      swapStep(previous),
      lessStep,
    ];
    for (const { title: step, run } of steps) it(step, () => run(stage!));
  });
}
