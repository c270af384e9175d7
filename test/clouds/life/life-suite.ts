import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { buildAll } from '../../../scripts/build.ts';
import type { ApiSuite } from '../../conformance/api-under-test.ts';
import type { LifeCloud, OpenLifeCloud } from './life-cloud.ts';
import { type LifeStage, openLifeStage } from './life-stage.ts';
import { type LifeStep, stepsAfter, stepsBefore } from './life-steps.ts';
import { serviceSteps } from './service-steps.ts';

const skipLong = process.env['MOORING_NIGHTLY'] === '1' ? undefined : 'minutes: MOORING_NIGHTLY=1 runs it';

export interface LifeSuiteOptions<Life extends LifeCloud> {
  /** Services are tried as well, on every cloud that has `balancers`. Default: no. */
  readonly services?: boolean;
  /** Tests of these clouds alone. They run after the shared ones, and before the first VM is stopped. */
  readonly own?: (stage: () => LifeStage<Life>) => void;
}

const stepsOf = (services: boolean) => [...stepsBefore, ...(services ? serviceSteps : [])];

/**
 * The life of a cluster with the shipped controller, on an embedded Kubernetes API.
 *
 * @param title of the clouds, as in `the shipped controller on TITLE`
 */
export function lifeSuite<Life extends LifeCloud>(
  title: string,
  open: readonly OpenLifeCloud<Life>[],
  { services = false, own = () => {} }: LifeSuiteOptions<Life> = {},
): void {
  describe(`the shipped controller on ${title}`, () => {
    let stage: LifeStage<Life> | undefined;
    before(async () => {
      stage = await openLifeStage(open);
    });
    after(() => stage?.close());
    const register = ({ title: step, isLong, run }: LifeStep) =>
      it(step, { skip: isLong === true && skipLong }, () => run(stage!));
    stepsOf(services).forEach(register);
    own(() => stage!);
    stepsAfter.forEach(register);
  });
}

/** All steps, long ones too, on any API server and with the controller as `npm run build` makes it. */
export function lifeApiSuite(
  name: string,
  open: readonly OpenLifeCloud[],
  { services = false }: Pick<LifeSuiteOptions<LifeCloud>, 'services'> = {},
): ApiSuite {
  return {
    name,
    async run(api, check) {
      const dist = await mkdtemp(join(tmpdir(), 'mooring-life-'));
      await buildAll(dist);
      const stage = await openLifeStage(open, { api, program: [join(dist, 'controller.cjs')] });
      try {
        for (const { title, run } of [...stepsOf(services), ...stepsAfter]) await check(title, () => run(stage));
      } finally {
        await stage.close();
        await rm(dist, { recursive: true });
      }
    },
  };
}
