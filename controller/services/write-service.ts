import type { Clock } from '../../common/process/clock.ts';
import { isConflict, isNotFound, type KubeApi } from '../kube/api.ts';
import { type ServiceView, servicePath } from '../model/service-view.ts';
import { type ServiceChange, servicePatch } from './service-patches.ts';

/** How often a write is tried when other clients change the Service at the same time. */
const maxTries = 5;

export interface ServiceWriter {
  readonly api: KubeApi;
  readonly clock: Clock;
  readonly view: (raw: unknown) => ServiceView;
}

/** The Service as the server has it now; undefined when there is none of that name. Throws a KubeError. */
export async function readService(
  { api, view }: Pick<ServiceWriter, 'api' | 'view'>,
  service: Pick<ServiceView, 'namespace' | 'name'>,
): Promise<ServiceView | undefined> {
  try {
    return view(await api.call({ verb: 'get', path: servicePath(service) }));
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}

/**
 * - `written`: the Service after the write
 * - `unchanged`: there was nothing to write
 * - `gone`: no Service of that name and uid exists
 * - `changed`: the Service has changed so that the change must be decided again
 */
export type WriteOutcome =
  | { readonly kind: 'written' | 'unchanged' | 'changed'; readonly service: ServiceView }
  | { readonly kind: 'gone' };

/**
 * Writes a change, guarded by the resourceVersion of `service`. On a conflict it reads the Service and writes the
 * change to the new version, if `holds` still allows it. Throws a KubeError. Safe to repeat.
 */
export async function writeService(
  writer: ServiceWriter,
  service: ServiceView,
  change: ServiceChange,
  holds: (now: ServiceView) => boolean,
): Promise<WriteOutcome> {
  let current = service;
  for (let attempt = 1; ; attempt += 1) {
    const body = servicePatch(current, change, writer.clock.now());
    if (body === undefined) return { kind: 'unchanged', service: current };
    try {
      const answer = await writer.api.call({
        verb: 'patch',
        path: `${servicePath(current)}/status`,
        patch: 'strategic-merge',
        body,
      });
      return { kind: 'written', service: writer.view(answer) };
    } catch (error) {
      if (isNotFound(error)) return { kind: 'gone' };
      if (!isConflict(error) || attempt >= maxTries) throw error;
      const live = await readService(writer, current);
      if (live === undefined || live.uid !== service.uid) return { kind: 'gone' };
      if (!holds(live)) return { kind: 'changed', service: live };
      current = live;
    }
  }
}
