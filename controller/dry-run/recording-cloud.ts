import { type CloudErrorKind, isCloudError } from '../../common/cloud-error.ts';
import { errorFields } from '../../common/process/log.ts';
import type { Cloud, Lookup } from '../clouds/cloud.ts';
import { WithheldError } from '../clouds/permit.ts';
import type { VolumeLookup } from '../clouds/volumes.ts';
import type { ConfiguredCloud } from '../model/configured-cloud.ts';
import type { Activity } from './activity.ts';
import type { ChangeRecord } from './change-record.ts';
import { recordingLoadBalancers } from './recording-load-balancers.ts';
import { type RecordingNodeTags, recordingNodeTags } from './recording-node-tags.ts';
import { recordingRoutes } from './recording-routes.ts';

/** Answers about single objects, which say nothing about the rest. */
const answers: ReadonlySet<CloudErrorKind> = new Set(['NotFound', 'Conflict', 'Invalid', 'Taken', 'Stale']);

/** The cloud, of which every change is recorded instead of sent, and every failed read noted. */
export function recordingCloud(cloud: ConfiguredCloud, record: ChangeRecord, activity: Activity): ConfiguredCloud {
  const { scope, api } = cloud;
  if (api === undefined) return cloud;

  async function reading<T>(what: string, read: () => Promise<T>): Promise<T> {
    try {
      const answer = await activity.during(read);
      record.succeeded(what);
      return answer;
    } catch (error) {
      if (!(isCloudError(error) && answers.has(error.kind)) && !(error instanceof WithheldError))
        record.failed(what, String(errorFields(error)['error']));
      throw error;
    }
  }

  const tagging = api.nodeTags && recordingNodeTags(api.nodeTags, scope, record);
  function noteFailures(what: string, found: ReadonlyMap<string, Lookup | VolumeLookup>): void {
    const failed = [...found.values()].find(isFailure);
    if (failed === undefined) record.succeeded(what);
    else record.failed(what, `${failed.error.kind}: ${failed.error.message}`);
  }

  const { instances, loadBalancers, routes, volumes } = api;
  const read: Cloud = Object.create(api, {
    instances: {
      value: {
        get batchSize() {
          return instances.batchSize;
        },
        async lookup(refs, options) {
          const found = await activity.during(() => instances.lookup(refs, options));
          noteFailures(`instances of ${scope}`, found);
          if (tagging === undefined) return found;
          return new Map([...found].map(([key, lookup]) => [key, withTags(lookup, tagging)]));
        },
      } satisfies Cloud['instances'],
    },
    ...(tagging && { nodeTags: { value: tagging.nodeTags } }),
    ...(routes && {
      routes: {
        value: recordingRoutes(
          { ...routes, observe: (...args) => reading(`routes of ${scope}`, () => routes.observe(...args)) },
          scope,
          record,
        ),
      },
    }),
    ...(volumes && {
      volumes: {
        value: {
          sources: volumes.sources,
          accepts: (ref) => volumes.accepts(ref),
          async lookup(...args) {
            const found = await activity.during(() => volumes.lookup(...args));
            noteFailures(`volumes of ${scope}`, found);
            return found;
          },
        } satisfies Cloud['volumes'],
      },
    }),
    ...(loadBalancers && {
      loadBalancers: {
        value: recordingLoadBalancers(
          {
            ...loadBalancers,
            observeAll: (...args) => reading(`load balancers of ${scope}`, () => loadBalancers.observeAll(...args)),
            observe: (...args) => reading(`load balancer of ${args[0].service}`, () => loadBalancers.observe(...args)),
            podIds: (...args) => reading(`pods of ${scope}`, () => loadBalancers.podIds(...args)),
            preview: (...args) =>
              reading(`load balancer of ${args[0].request.owner.service}`, () => loadBalancers.preview(...args)),
          },
          scope,
          record,
        ),
      },
    }),
  });
  return { ...cloud, api: read };
}

function withTags(lookup: Lookup, tagging: RecordingNodeTags): Lookup {
  return lookup.state === 'found' ? { ...lookup, instance: tagging.shown(lookup.instance) } : lookup;
}

function isFailure(lookup: Lookup | VolumeLookup): lookup is Lookup & { state: 'unknown' } {
  return lookup.state === 'unknown' && !answers.has(lookup.error.kind);
}
