import { setTimeout as sleep } from 'node:timers/promises';
import type { SimulatedInstance } from '../cloud/instance.ts';
import type { World } from './world.ts';

/** One thing the tour shows and proves. */
export interface Scenario {
  readonly name: string;
  readonly title: string;
  /** What takes its time. */
  readonly waitsFor?: string;
  /** Throws when it did not happen; resolves with what was seen, in words. */
  run(world: World): Promise<string>;
}

// biome-ignore lint/suspicious/noExplicitAny: a Node as the API server sends it
export type NodeObject = any;

/** Asks until the answer is truthy. Throws, with the last answer in words, after `timeoutMs`. */
export async function until<T>(
  what: string,
  timeoutMs: number,
  probe: () => Promise<T | undefined | false>,
  seen: () => string = () => '',
): Promise<T> {
  const deadline = Date.now() + timeoutMs;
  for (;;) {
    const answer = await probe();
    if (answer) return answer;
    if (Date.now() > deadline)
      throw new Error(`not within ${timeoutMs / 1000} s: ${what}${seen() && `; last seen: ${seen()}`}`);
    await sleep(150);
  }
}

export async function nodeNamed(world: World, name: string): Promise<NodeObject | undefined> {
  const answer = await world.rest.call('GET', `/api/v1/nodes/${name}`);
  return answer.status === 200 ? answer.body : undefined;
}

export function taintKeys(node: NodeObject): string[] {
  return (node?.spec?.taints ?? []).map(({ key }: { key: string }) => key);
}

export function conditionOf(
  node: NodeObject,
  type: string,
): { status: string; reason: string; message: string } | undefined {
  return node?.status?.conditions?.find((each: { type: string }) => each.type === type);
}

export function addressesOf(node: NodeObject, type: string): string[] {
  return (node?.status?.addresses ?? [])
    .filter((each: { type: string }) => each.type === type)
    .map(({ address }: { address: string }) => address);
}

export async function eventsOf(world: World, name: string): Promise<{ reason: string; message: string }[]> {
  const answer = await world.rest.must(
    'GET',
    `/api/v1/namespaces/default/events?fieldSelector=involvedObject.name%3D${name}`,
  );
  return answer.items;
}

export function seconds(sinceMs: number): string {
  return `${((Date.now() - sinceMs) / 1000).toFixed(1)} s`;
}

export function assertThat(held: unknown, message: string): asserts held {
  if (!held) throw new Error(message);
}

export function vm(world: World, index: number): SimulatedInstance {
  const found = world.vms[index];
  assertThat(found, `the world has no VM number ${index + 1}`);
  return found;
}
