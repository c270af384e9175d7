import type { ApiSuite } from './api-under-test.ts';
import { type Fact, type Run, runFact, startRun } from './kit.ts';

/**
 * A table of facts as a suite. Several facts run at once (some only wait); those marked `alone` run one by one at the
 * end.
 */
export function factsSuite(name: string, facts: Fact[], concurrency = 6): ApiSuite {
  return {
    name,
    async run(api, check) {
      const run = await startRun(api);
      const one = (fact: Fact) =>
        check(`${fact.id} ${fact.says}`, () => runFact(fact, run), { skip: whySkipped(fact, run) });
      const queue = facts.filter((fact) => !fact.alone);
      const worker = async () => {
        for (let fact = queue.shift(); fact; fact = queue.shift()) await one(fact);
      };
      try {
        await Promise.all(Array.from({ length: concurrency }, worker));
        for (const fact of facts.filter((entry) => entry.alone)) await one(fact);
      } finally {
        await run.client.call('DELETE', `/api/v1/namespaces/${run.ns}`).catch(() => undefined);
        run.client.close();
      }
    },
  };
}

function whySkipped(fact: Fact, run: Run): string | undefined {
  return fact.realOnly !== undefined && run.api.kind !== 'real' ? `real server only: ${fact.realOnly}` : undefined;
}
