import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { parseAllDocuments } from 'yaml';
import { runFlags as agentFlags } from '../../agent/options.ts';
import { type FlagDefinitions, parseFlags } from '../../common/process/flags.ts';
import { permissionsIn } from '../../controller/app/permissions.ts';
import { checkFlags } from '../../controller/commands/check-command.ts';
import { runCommandFlags } from '../../controller/commands/run-command.ts';
import { chart } from '../../scripts/render-base.ts';
import { type Manifest, right, rightsOf } from './manifests.ts';

/** Files of values: one for each cloud, for users, and those of the tests. */
export async function valueFiles(): Promise<string[]> {
  const folders = [join(chart, 'examples'), join(import.meta.dirname, 'chart-values')];
  const files = await Promise.all(
    folders.map(async (folder) => (await readdir(folder)).sort().map((file) => join(folder, file))),
  );
  return files.flat();
}

/** The objects of the release `blue` in the namespace `site`. Throws what helm says where it refuses the values. */
export async function renderChart(helm: string, args: readonly string[]): Promise<Manifest[]> {
  const { stdout } = await promisify(execFile)(helm, [
    'template',
    'blue',
    chart,
    '--namespace=site',
    '--kube-version=1.30.0',
    ...args,
  ]);
  return parseAllDocuments(stdout).flatMap((each) => (each.toJS() === null ? [] : [each.toJS() as Manifest]));
}

interface PodSpec {
  readonly containers: readonly { readonly args: readonly string[]; readonly volumeMounts?: readonly Named[] }[];
  readonly volumes?: readonly Named[];
}

interface Named {
  readonly name: string;
}

function podSpecOf(manifest: Manifest): PodSpec | undefined {
  if (manifest.kind === 'Pod') return manifest['spec'] as PodSpec;
  const { template } = (manifest['spec'] ?? {}) as { readonly template?: { readonly spec: PodSpec } };
  return template?.spec;
}

const flagsOf: Readonly<Record<string, FlagDefinitions>> = {
  Deployment: runCommandFlags,
  DaemonSet: agentFlags,
  Pod: checkFlags,
};

/** Throws unless the pods of a rendered chart can start: known arguments, volumes for all that is mounted. */
export function assertStartable(manifests: readonly Manifest[]): void {
  for (const manifest of manifests) {
    const spec = podSpecOf(manifest);
    if (spec === undefined) continue;
    const volumes = (spec.volumes ?? []).map(({ name }) => name);
    for (const { args, volumeMounts = [] } of spec.containers) {
      const parsed = parseFlags(flagsOf[manifest.kind] ?? {}, args.slice(1));
      assert.ok(parsed.ok, parsed.ok ? '' : `${manifest.kind}: ${parsed.message}`);
      assert.deepEqual([parsed.warnings, parsed.operands], [[], []]);
      assert.deepEqual(
        volumeMounts.map(({ name }) => name).filter((name) => !volumes.includes(name)),
        [],
      );
    }
  }
}

/** Throws unless the controller's account gets the rights that the code uses, in this namespace and with this Lease. */
export function assertRights(
  manifests: readonly Manifest[],
  expected: {
    readonly deletesNodes: boolean;
    readonly labelsVolumes: boolean;
    readonly lease?: { readonly namespace: string; readonly name: string };
  },
): void {
  const used = permissionsIn('site', expected.lease).flatMap(({ verbs, group, resource, name, namespace }) =>
    verbs.map((verb) => right(verb, group, resource, name, namespace)),
  );
  const wanted = new Set(
    used
      .filter((each) => expected.deletesNodes || each !== 'delete nodes')
      .filter((each) => expected.labelsVolumes || !each.endsWith(' persistentvolumes')),
  );
  assert.deepEqual([...rightsOf('blue-mooring-controller', manifests, 'site')].sort(), [...wanted].sort());
  assert.deepEqual([...rightsOf('blue-mooring-agent', manifests, 'site')], []);
}
