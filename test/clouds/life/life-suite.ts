import { after, before, describe, it } from 'node:test';
import type { ApiSuite } from '../../conformance/api-under-test.ts';
import type { LifeCloud, OpenLifeCloud } from './life-cloud.ts';
import { type LifeStage, openLifeStage } from './life-stage.ts';
import { type LifeStep, stepsAfter, stepsBefore } from './life-steps.ts';
import { serviceSteps } from './service-steps.ts';

const skipLong = process.env['MOORING_NIGHTLY'] === '1' ? undefined : 'minutes: MOORING_NIGHTLY=1 runs it';

export interface LifeSuiteOptions<Life extends LifeCloud> {
  /** A Service is tried as well, on the first of the clouds. Default: no. */
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

/** The same steps on any API server. */
export function lifeApiSuite(
  name: string,
  open: readonly OpenLifeCloud[],
  { services = false }: Pick<LifeSuiteOptions<LifeCloud>, 'services'> = {},
): ApiSuite {
  return {
    name,
    async run(api, check) {
      const stage = await openLifeStage(open, { api });
      try {
        for (const { title, isLong, run } of [...stepsOf(services), ...stepsAfter])
          await check(title, () => run(stage), { skip: isLong ? skipLong : undefined });
      } finally {
        await stage.close();
      }
    },
  };
}
