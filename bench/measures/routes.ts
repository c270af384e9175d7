import { setTimeout as sleep } from 'node:timers/promises';
import { conditions } from '../../common/well-known.ts';
import type { KubeObject } from '../../test/conformance/client.ts';
import { type KubeRest, strategicPatch } from '../../test/kit/world/kube-rest.ts';
import { createNodes } from '../bare-patches.ts';
import { type CallsMade, countCalls } from '../calls-made.ts';
import type { Contender } from '../contender.ts';
import { eachOf } from '../fleet.ts';
import { quiet, type Stage } from '../stage.ts';
import { watchFor } from '../watch-for.ts';
import { isInitialised } from './node-joins.ts';

export interface RoutesResult {
  /** From the leader's lease to the last route. */
  readonly madeMs: number;
  /** From the leader's lease to the last Node that says so. */
  readonly toldMs: number;
  readonly calls: CallsMade;
  /** Calls of a minute in which nothing happens after that. */
  readonly idleCallsPerMinute: number;
}

export interface RoutesOptions {
  readonly routes: number;
  /** Initialises the Nodes before. */
  readonly preparer: Contender;
  readonly idleSeconds: number;
}

interface NodeFields {
  readonly status?: { readonly conditions?: readonly { readonly type: string; readonly status: string }[] };
}

const patienceMs = 600_000;

/** A leader that starts and finds Nodes with everything but routes. */
export async function measureRoutes(
  stage: Stage,
  { routes, preparer, idleSeconds }: RoutesOptions,
): Promise<RoutesResult> {
  const { cloud, client, rest, api } = stage;
  const machines = cloud.model.createMany(routes, { name: 'bench' });
  const names = machines.map(({ name }) => name);
  const initialised = await watchFor(client, '/api/v1/nodes', isInitialised);
  const told = await watchFor(client, '/api/v1/nodes', isRouted);
  try {
    const before = await stage.lead(['--configure-cloud-routes=false'], preparer);
    await createNodes(api, machines, 32);
    await initialised.reached(routes, patienceMs);
    await giveRanges(rest, names);
    await before.retire();

    const calls = countCalls(cloud.calls);
    const leader = await stage.lead(['--configure-cloud-routes=true', '--cluster-cidr=10.64.0.0/10']);
    const telling = told.reached(routes, patienceMs);
    // Awaited below; a failure before then is that one's.
    telling.catch(() => {});
    const madeAt = await until(() => cloud.network.routes.store.all().length >= routes);
    const toldAt = await telling;
    const made = calls();
    await quiet(cloud, 1000, 10_000);
    const idle = countCalls(cloud.calls);
    await sleep(idleSeconds * 1000);
    return {
      madeMs: madeAt - leader.ledAt,
      toldMs: toldAt - leader.ledAt,
      calls: made,
      idleCallsPerMinute: (idle().total * 60) / idleSeconds,
    };
  } finally {
    initialised.stop();
    told.stop();
  }
}

function isRouted(object: KubeObject): boolean {
  const { status } = object as NodeFields;
  return (
    status?.conditions?.some(({ type, status: is }) => type === conditions.networkUnavailable && is === 'False') ??
    false
  );
}

/** A range of pod addresses for each Node, as kube-controller-manager would give them. */
async function giveRanges(rest: KubeRest, names: readonly string[]): Promise<void> {
  await eachOf(names, 16, async (name) => {
    const number = Number(name.split('-').at(-1));
    const range = `10.${64 + (number >> 8)}.${number & 255}.0/24`;
    const body = { spec: { podCIDR: range, podCIDRs: [range] } };
    await rest.must('PATCH', `/api/v1/nodes/${name}`, body, { type: strategicPatch });
  });
}

async function until(holds: () => boolean): Promise<number> {
  for (const deadline = Date.now() + patienceMs; Date.now() < deadline; await sleep(20)) if (holds()) return Date.now();
  throw new Error(`the cloud is not as it should be after ${patienceMs / 1000} s`);
}
