import type { ApiSuite } from '../conformance/api-under-test.ts';
import { tour } from '../sandbox/tour/scenarios.ts';
import { furtherScenarios } from './further-scenarios.suite.ts';
import { inWorld } from './in-world.ts';

const nodes = 5;

/** Every node that a scenario registers: a real API server must know its kubelets' tokens at its start. */
export const scenarioNodeNames: readonly string[] = [
  ...Array.from({ length: nodes }, (_, index) => `node-${String(index + 1).padStart(4, '0')}`),
  'foreign-1',
  'late-1',
  'while-paused',
];

/** The tour and what goes beyond it, with the shipped programs as processes, on any API server. */
export const scenariosSuite: ApiSuite = {
  name: 'scenarios',
  async run(api, check) {
    await inWorld({ api, nodes, agentProcesses: nodes }, check, async (world, prove) => {
      for (const stage of [...tour, ...furtherScenarios.map((scenario) => [scenario])]) {
        await Promise.all(stage.map((scenario) => prove(scenario.title, async () => void (await scenario.run(world)))));
      }
    });
  },
};
