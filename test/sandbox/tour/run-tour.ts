import { rm } from 'node:fs/promises';
import type { Scenario } from '../../kit/world/scenario.ts';
import { shortened } from '../../kit/world/shortened.ts';
import { showLogs } from '../../kit/world/show-logs.ts';
import { startWorld, type World, type WorldApi } from '../../kit/world/world.ts';
import { followPower } from '../follow-power.ts';
import type { SandboxUi } from '../sandbox-ui.ts';
import { tour } from './scenarios.ts';
import { createLiveTable } from './table.ts';

export interface TourOptions {
  readonly api: WorldApi;
  readonly nodes: number;
  readonly agentProcesses: number;
  readonly cloudLatencyMs: number;
  /** Names of scenarios; empty = all. */
  readonly only: readonly string[];
  readonly keep: boolean;
  /** The page that shows it. */
  readonly ui?: SandboxUi | undefined;
  readonly json: boolean;
  readonly out: NodeJS.WriteStream;
  printSummary(text: string): void;
  printKubeconfig(text: string): void;
  readonly stop: AbortSignal;
}

interface Outcome {
  readonly scenario: string;
  readonly title: string;
  readonly ok: boolean;
  readonly seconds: number;
  readonly seen: string;
}

const toTry = [
  '  npm run -s controller -- explain node node-0001',
  '  kubectl create service loadbalancer web --tcp=80:80',
  '  npm run -s controller -- explain service web',
];

/** Runs the tour and answers the exit code: 0 only if all of it happened. */
export async function runTour(options: TourOptions): Promise<number> {
  const startedMs = Date.now();
  const table = createLiveTable(options.out, startedMs);
  table.say(
    `periods are shortened by flags: lease ${shortened.leaseDuration}, lifecycle ${shortened.nodeMonitorPeriod}, ` +
      `agents ${shortened.heartbeat}; kubelets renew every ${shortened.kubeletLeaseMs / 1000} s, Ready turns ` +
      `Unknown after ${shortened.monitorGraceMs / 1000} s`,
  );
  const printKubeconfig = (path: string, cloud: string) =>
    options.printKubeconfig(`export KUBECONFIG=${path} CLOUD=${cloud}\n`);
  const world = await startWorld({
    ...options,
    say: (line) => table.say(line),
    ...(options.keep && { onKubeconfig: printKubeconfig }),
  });
  options.ui?.show(world);
  const redraw = setInterval(() => void draw(world, table.draw), 700);
  const outcomes: Outcome[] = [];
  try {
    for (const stage of tour) {
      const chosen = stage.filter(
        ({ name }) => name === 'join' || options.only.length === 0 || options.only.includes(name),
      );
      for (const { title, waitsFor } of chosen)
        table.say(`>> ${title}${waitsFor === undefined ? '' : ` (waits for ${waitsFor})`}`);
      const done = await Promise.all(chosen.map((scenario) => attempt(scenario, world, options.stop)));
      await draw(world, table.draw);
      for (const outcome of done) table.say(`${outcome.ok ? 'ok ' : 'NOT'} ${outcome.scenario}: ${outcome.seen}`);
      outcomes.push(...done);
      if (done.some(({ ok }) => !ok) || options.stop.aborted) break;
    }
  } finally {
    clearInterval(redraw);
    table.end();
  }
  const ok = outcomes.every((outcome) => outcome.ok) && !options.stop.aborted;
  options.printSummary(summary(options, world, outcomes, ok, Date.now() - startedMs));
  if (!ok && !options.stop.aborted) await showLogs(world, options.out);
  if (options.keep && !options.stop.aborted) {
    const unfollow = followPower(world, (line) => table.say(line));
    printKubeconfig(world.kubeconfig, world.cloud.url);
    if (options.ui !== undefined) {
      options.ui.allowFaults();
      table.say(`the page can break things now: ${options.ui.url}`);
    }
    table.say('The sandbox stays up until it is interrupted. With these variables in another terminal, try:');
    for (const line of toTry) table.say(line);
    await new Promise<void>((resolve) => options.stop.addEventListener('abort', () => resolve(), { once: true }));
    unfollow();
  } else if (ok && !options.json) {
    table.say('A sandbox that stays up: npm run sandbox -- --keep. Then, in another terminal:');
    for (const line of toTry) table.say(line);
  }
  await world.stop();
  if (ok || options.stop.aborted)
    // What an agent was being given at that moment may still be written.
    await rm(world.folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
  else table.say(`kept: ${world.folder}`);
  return ok ? 0 : 1;
}

async function draw(world: World, show: (nodes: readonly unknown[]) => void): Promise<void> {
  const answer = await world.rest.call('GET', '/api/v1/nodes').catch(() => undefined);
  if (answer?.status === 200) show(answer.body.items);
}

async function attempt(scenario: Scenario, world: World, stop: AbortSignal): Promise<Outcome> {
  const startedMs = Date.now();
  const { name, title } = scenario;
  const interrupted = new Promise<never>((_, reject) =>
    stop.addEventListener('abort', () => reject(new Error('interrupted')), { once: true }),
  );
  interrupted.catch(() => {});
  try {
    const seen = await Promise.race([scenario.run(world), interrupted]);
    return { scenario: name, title, ok: true, seconds: (Date.now() - startedMs) / 1000, seen };
  } catch (error) {
    return {
      scenario: name,
      title,
      ok: false,
      seconds: (Date.now() - startedMs) / 1000,
      seen: error instanceof Error ? error.message : String(error),
    };
  }
}

function summary(
  options: TourOptions,
  world: World,
  outcomes: readonly Outcome[],
  ok: boolean,
  tookMs: number,
): string {
  const cloudCalls = world.cloud.calls.snapshot();
  if (options.json) {
    const kubeconfig = options.keep ? { KUBECONFIG: world.kubeconfig, page: options.ui?.url } : {};
    const result = { ok, seconds: tookMs / 1000, nodes: options.nodes, outcomes, cloudCalls, ...kubeconfig };
    return `${JSON.stringify(result, undefined, 2)}\n`;
  }
  const lines = outcomes.map(
    (outcome) => `  ${outcome.ok ? 'passed' : 'FAILED'}  ${outcome.title} (${outcome.seconds.toFixed(1)} s)`,
  );
  const calls = Object.entries(cloudCalls).map(
    ([operation, codes]) =>
      `  ${operation.padEnd(22)} ${Object.entries(codes)
        .map(([code, count]) => `${count} x ${code}`)
        .join(', ')}`,
  );
  const failed = outcomes.filter((outcome) => !outcome.ok).length;
  const all = outcomes.length === 1 ? 'The scenario' : `All ${outcomes.length} scenarios`;
  const verdict = ok ? `${all} passed.` : options.stop.aborted ? 'Interrupted.' : `Scenarios that failed: ${failed}.`;
  return (
    `\n${verdict} ${(tookMs / 1000).toFixed(0)} s.\n${lines.join('\n')}\n` +
    `Calls to the cloud's API, with its answers (4xx: the scenarios break things on purpose):\n` +
    `${calls.join('\n')}\n`
  );
}
