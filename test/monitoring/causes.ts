import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { names, taints } from '../../common/well-known.ts';
import { mergePatch } from '../kit/world/kube-rest.ts';
import { applyManifests } from '../kit/world/manifests.ts';
import { createService, deleteService } from '../kit/world/services.ts';
import type { World } from '../kit/world/world.ts';

/** What makes an alert fire. */
export interface Cause {
  readonly alert: string;
  /** Those that this cause may make fire besides. */
  readonly also?: readonly string[];
  start(world: World): Promise<unknown>;
  end(world: World): Promise<unknown>;
}

/**
 * The shipped alerts, for a cluster whose minutes are seconds: the same expressions, with shorter times.
 *
 * @param rules as YAML
 */
export function shortenedRules(rules: string): string {
  return (
    rules
      // An agent that has just started has not been heard, for longer where the machine is busy.
      .replace(/for: 10m( +# an agent that has just started)/, 'for: 30s$1')
      .replaceAll(/for: \d+[mh]/g, 'for: 3s')
      .replaceAll(/\[\d+[mh]\]/g, '[15s]')
      .replace('mooring_loop_progress_age_seconds > 120', 'mooring_loop_progress_age_seconds > 60')
      .replace('mooring_cache_staleness_seconds > 300', 'mooring_cache_staleness_seconds > 120')
      .replace('timestamp_seconds > 1800', 'timestamp_seconds > 40')
      .replace('consecutive_failures > 10', 'consecutive_failures > 2')
  );
}

const published = `/api/v1/namespaces/${names.namespace}/configmaps/${names.certificates}`;

/** A Node that has no VM. */
export const strangeNode = {
  metadata: { name: 'stranger' },
  spec: { taints: [{ key: taints.uninitialized, value: 'true', effect: 'NoSchedule' }] },
};

const setPause = ({ rest }: World, value: string) =>
  rest.must('PATCH', published, { data: { [names.pausedKey]: value } }, { type: mergePatch });

/** Each is undone before the next one. */
export const causes: readonly Cause[] = [
  {
    alert: 'MooringNodesWait',
    start: ({ rest }) => rest.must('POST', '/api/v1/nodes', strangeNode),
    end: ({ rest }) => rest.must('DELETE', '/api/v1/nodes/stranger'),
  },
  {
    alert: 'MooringServicesWait',
    start: (world) => createService(world, { name: 'lost', annotations: { 'mooring.dev/load-balancer-id': 'none' } }),
    end: (world) => deleteService(world, 'lost'),
  },
  {
    alert: 'MooringPaused',
    start: (world) => setPause(world, 'true'),
    end: (world) => setPause(world, 'false'),
  },
  {
    alert: 'MooringCredentialNotTaken',
    also: ['MooringCloudCallsFail'],
    start: ({ folder }) => writeFile(join(folder, 'credential'), 'of-nobody'),
    end: ({ folder, cloud }) => writeFile(join(folder, 'credential'), cloud.credential),
  },
  {
    alert: 'MooringCloudCallsFail',
    also: ['MooringServicesWait', 'MooringDeletionsWithheld'],
    async start({ cloud }) {
      cloud.credentials.setMode(cloud.credential, 'unauthorized');
    },
    async end({ cloud }) {
      cloud.credentials.setMode(cloud.credential, 'ok');
    },
  },
  {
    alert: 'MooringShippedObjectMissing',
    // Agents trust nobody until the controllers have filled it again.
    also: ['MooringAgentUnheard'],
    start: ({ rest }) => rest.must('DELETE', published),
    end: ({ rest }) => applyManifests(rest),
  },
  {
    alert: 'MooringNoLeader',
    also: ['MooringAgentUnheard'],
    start: ({ replicas }) => Promise.all(replicas.map(({ child }) => child.kill())),
    async end({ replicas }) {
      for (const replica of replicas) replica.start();
    },
  },
];
