import { names } from '../../common/well-known.ts';
import type { KubeApi, KubeCall } from '../kube/api.ts';
import type { ConfiguredCloud } from '../model/configured-cloud.ts';
import { type Activity, createActivity } from './activity.ts';
import type { ChangeRecord } from './change-record.ts';
import { describeWrite } from './describe-write.ts';
import { createKubeOverlay, type KubeOverlay } from './kube-overlay.ts';
import { recordingCloud } from './recording-cloud.ts';
import { watchedApi } from './watched-api.ts';

/** What a replica without effect is given in place of the API server and the clouds. */
export interface DryRun {
  readonly api: KubeOverlay;
  readonly clouds: readonly ConfiguredCloud[];
  /** Calls to the API server and the clouds. */
  readonly activity: Activity;
}

export interface DryRunParts {
  readonly api: KubeApi;
  readonly clouds: readonly ConfiguredCloud[];
  readonly record: ChangeRecord;
  /** As of the replica's clock. Default: 0. */
  readonly aheadMs?: () => number;
  /** Called with each Event that would be written. */
  readonly onEvent?: (call: KubeCall) => void;
}

/** What the controller notes for itself: the Lease, which is written all the time, and the records of routes. */
const isNote = (path: string) =>
  path.startsWith('/apis/coordination.k8s.io/') || path.endsWith(`/configmaps/${names.routeRecords}`);
const isEvent = (path: string) => path.includes('/events');

/** Nothing is written to the API server or a cloud: changes go to the record, and reads show them as done. */
export function createDryRun({ api, clouds, record, aheadMs = () => 0, onEvent }: DryRunParts): DryRun {
  const activity = createActivity();
  const overlay = createKubeOverlay(watchedApi(api, record, activity, aheadMs), (call) => {
    if (isEvent(call.path)) onEvent?.(call);
    else if (!isNote(call.path)) record.add(describeWrite(call));
  });
  return { api: overlay, clouds: clouds.map((cloud) => recordingCloud(cloud, record, activity)), activity };
}
