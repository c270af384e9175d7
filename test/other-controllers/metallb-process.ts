import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parse } from 'yaml';
import { type Child, startProgram } from '../kit/world/child.ts';
import { until } from '../kit/world/scenario.ts';
import type { World } from '../kit/world/world.ts';

const namespace = 'metallb-system';
/** Where its pool begins; no address of the simulated cloud is in it. */
export const poolPrefix = '203.0.113.';

/** The definitions of MetalLB's objects, and one pool. */
export async function installMetallb({ rest }: World): Promise<void> {
  const folder = process.env['METALLB_DEFINITIONS']!;
  for (const file of await readdir(folder)) {
    const definition = parse(await readFile(join(folder, file), 'utf8'));
    await rest.must('POST', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', definition);
  }
  await rest.must('POST', '/api/v1/namespaces', { metadata: { name: namespace } });
  const pools = `/apis/metallb.io/v1beta1/namespaces/${namespace}/ipaddresspools`;
  const pool = {
    apiVersion: 'metallb.io/v1beta1',
    kind: 'IPAddressPool',
    metadata: { name: 'pool', namespace },
    spec: { addresses: [`${poolPrefix}0/24`] },
  };
  await until('MetalLB has a pool', 30_000, async () => (await rest.call('POST', pools, pool)).status === 201);
}

/** Its controller as a process, without the webhooks that check its own objects. */
export function startMetallb(world: World, flags: readonly string[]): Child {
  const args = [`--namespace=${namespace}`, '--webhook-mode=disabled', '--port=0', ...flags];
  const env = { ...process.env, KUBECONFIG: world.kubeconfig };
  return startProgram([process.env['METALLB_CONTROLLER']!, ...args], join(world.folder, 'logs/metallb.log'), env);
}
