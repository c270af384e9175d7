import { startAwsWorld } from '../../test/clouds/aws/aws-world.ts';
import { classicRules } from '../../test/clouds/aws/classic-rules.ts';
import { loadBalancerRules } from '../../test/clouds/aws/load-balancer-rules.ts';
import { startMoto } from '../../test/clouds/aws/start-moto.ts';
import type { CountedWorld } from '../../test/clouds/suite/count-operations.ts';

/** A moto server of its own, where there is one to be had. */
export async function motoCalls(kind: 'nlb' | 'classic'): Promise<CountedWorld | { readonly skipped: string }> {
  const moto = await startMoto();
  if ('skipped' in moto) return moto;
  const world =
    kind === 'nlb'
      ? await startAwsWorld({
          server: moto.url,
          kind,
          config: ['NLBSecurityGroupMode = Managed'],
          rules: loadBalancerRules(),
        })
      : await startAwsWorld({ server: moto.url, kind, rules: classicRules() });
  return {
    calls: world.reported,
    world: {
      ...world,
      async close() {
        await world.close();
        await moto.close();
      },
    },
  };
}
