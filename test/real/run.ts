import { parseArgs } from 'node:util';
import { lifeClouds } from '../clouds/life/life-clouds.ts';
import { lifeApiSuite } from '../clouds/life/life-suite.ts';
import type { ApiSuite } from '../conformance/api-under-test.ts';
import { type Counts, runSuite } from '../conformance/run-suite.ts';
import { conformanceSuites } from '../conformance/suites.ts';
import { chartSuite } from '../deploy/chart.suite.ts';
import { deploySuite } from '../deploy/manifests.suite.ts';
import { shippedObjectsNodeNames, shippedObjectsSuite } from '../deploy/shipped-objects.suite.ts';
import { bootstrapNodeNames, bootstrapSuite } from '../e2e/bootstrap.suite.ts';
import { networkNodeNames, networkSuite } from '../e2e/network.suite.ts';
import { scenarioNodeNames, scenariosSuite } from '../e2e/scenarios.suite.ts';
import { volumeNodeNames, volumesSuite } from '../e2e/volumes.suite.ts';
import { reregisterSuite } from '../kubelet/reregister.suite.ts';
import { type Binaries, findBinaries } from './binaries.ts';
import { differentialSuite } from './differential.ts';
import { withApiserver } from './older-apiserver.ts';
import { startRealApi } from './start-real-api.ts';
import { throttledSuite } from './throttled.ts';

/** Suites that share one fresh server. */
interface Group {
  name: string;
  suites: (binaries: Binaries, stories: { stories: number; seed: number }) => ApiSuite[];
  /** It waits most of its time, and runs while the others do. */
  isBeside?: boolean;
  /** The kubelets that register with it, where they are not the usual ones. */
  nodeNames?: readonly string[];
  /** It tells what one version of Kubernetes does, to the letter, and says nothing of Mooring. */
  tellsVersion?: boolean;
}

/** The life of a cluster on these clouds together, with Services on those that have load balancers. */
function lifeGroup(name: string, clouds: readonly (keyof typeof lifeClouds)[]): Group {
  const opens = clouds.map((cloud) => lifeClouds[cloud].open);
  return {
    name,
    suites: () => [lifeApiSuite(clouds.join('-'), opens, { services: true })],
    nodeNames: clouds.flatMap((cloud) => lifeClouds[cloud].nodes),
    isBeside: true,
  };
}

/**
 * What runs against the real servers, in this order; `--only` takes a group's name, or GROUP/SUITE. Another kind of
 * suite, end-to-end scenarios for one, gets a line here.
 */
const groups: Group[] = [
  { name: 'conformance', suites: ({ kubectl }) => conformanceSuites({ kubectl }), tellsVersion: true },
  { name: 'differential', suites: (_binaries, stories) => [differentialSuite(stories)], tellsVersion: true },
  {
    name: 'e2e',
    suites: () => [bootstrapSuite, scenariosSuite],
    nodeNames: [...new Set([...bootstrapNodeNames, ...scenarioNodeNames])],
  },
  // A server of its own: it makes 200 Services.
  { name: 'network', suites: () => [networkSuite(200)], nodeNames: networkNodeNames },
  { name: 'volumes', suites: () => [volumesSuite], nodeNames: volumeNodeNames },
  // A server of its own: it installs the manifests and removes them again.
  {
    name: 'deploy',
    suites: ({ kubectl }) => [deploySuite(kubectl), shippedObjectsSuite, chartSuite],
    nodeNames: shippedObjectsNodeNames,
  },
  // Clouds in one cluster, which are fakes behind sockets.
  lifeGroup('clouds', ['gce', 'azure']),
  lifeGroup('more-clouds', ['alibaba', 'cloudstack', 'huaweicloud', 'ovirt']),
  { name: 'kubelet', suites: () => [reregisterSuite] },
  { name: 'limits', suites: (binaries) => [throttledSuite(binaries)] },
];

/**
 * Runs the suites against a real kube-apiserver. Exit code: 0 passed or skipped (with `--required`: passed), 1
 * something failed, 2 bad argument.
 */
async function main(argv: string[]): Promise<number> {
  const names = groups.map((group) => group.name);
  const { values } = parseArgs({
    args: argv,
    options: {
      only: { type: 'string', multiple: true },
      required: { type: 'boolean', default: false },
      stories: { type: 'string', default: '60' },
      seed: { type: 'string', default: '1' },
      kubernetes: { type: 'string' },
    },
  });
  const stories = { stories: wholeNumber('stories', values.stories), seed: wholeNumber('seed', values.seed) };
  const only = values.only?.flatMap((value) => value.split(','));
  const unknown = only?.find((name) => !names.some((known) => name === known || name.startsWith(`${known}/`)));
  if (unknown) throw new UsageError(`--only ${unknown}: expected one of ${names.join(', ')}, or GROUP/SUITE`);

  const { found, reason } = { reason: '', ...(await findBinaries(process.env, (line) => console.error(line))) };
  if (!found) {
    console.error(`SKIPPED: no real API server: ${reason}`);
    console.log(`0 passed, 0 failed, ${names.length} skipped`);
    return values.required ? 1 : 0;
  }
  const { kubernetes } = values;
  const programs =
    kubernetes === undefined
      ? found
      : await withApiserver(found, kubernetes, process.env, (line) => console.error(line));
  const kubectl = programs.kubectl ? `kubectl ${programs.kubectl}` : 'no kubectl';
  console.error(`real servers from ${programs.origin}, ${kubectl}`);
  const counts: Counts = { passed: 0, failed: 0, skipped: 0 };
  async function run(group: Group, binaries: Binaries): Promise<void> {
    const suites = group.suites(binaries, stories).filter((suite) => chosen(only, group.name, suite.name));
    if (suites.length === 0 || (kubernetes !== undefined && group.tellsVersion)) return;
    const { nodeNames } = group;
    const api = await startRealApi({ binaries, ...(nodeNames ? { nodeNames: [...nodeNames] } : {}) });
    try {
      for (const suite of suites) await runSuite(suite, api, counts);
    } finally {
      await api.stop();
    }
  }
  const beside = Promise.all(groups.filter(({ isBeside }) => isBeside).map((group) => run(group, programs)));
  for (const group of groups) if (!group.isBeside) await run(group, programs);
  await beside;
  console.log(`${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped`);
  return counts.failed > 0 ? 1 : 0;
}

class UsageError extends Error {}

function wholeNumber(flag: string, text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw new UsageError(`--${flag} ${text}: expected a whole number`);
  return Number(text);
}

function chosen(only: string[] | undefined, group: string, suite: string): boolean {
  return only === undefined || only.includes(group) || only.includes(`${group}/${suite}`);
}

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  console.error(error instanceof UsageError || isBadArgument(error) ? String((error as Error).message) : error);
  process.exitCode = error instanceof UsageError || isBadArgument(error) ? 2 : 1;
}

function isBadArgument(error: unknown): boolean {
  return String((error as { code?: unknown })?.code ?? '').startsWith('ERR_PARSE_ARGS');
}
