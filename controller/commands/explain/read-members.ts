import { isKubeError, type KubeApi } from '../../kube/api.ts';
import type { ServiceView } from '../../model/service-view.ts';
import { readNodes } from '../status/read-cluster.ts';
import { createMembersView, type DesiredMembers } from './desired-members.ts';

/** Answers for one Service; where the Nodes cannot be read it says why. */
export type ReadMembers = (service: ServiceView) => Promise<DesiredMembers>;

/** Reads the Nodes with the first question, once for all. */
export function membersReader(api: KubeApi, moduleNames: readonly string[], signal: AbortSignal): ReadMembers {
  const view = createMembersView(moduleNames);
  let reading: Promise<string | undefined> | undefined;

  /** Returns why the Nodes are not known. */
  async function read(): Promise<string | undefined> {
    try {
      const nodes = await readNodes(api, signal);
      if (nodes === undefined) return 'this credential may not list Nodes';
      for (const node of nodes) view.put(node);
      await view.prepare();
      return undefined;
    } catch (error) {
      if (!isKubeError(error) || signal.aborted) throw error;
      return `the Nodes could not be read: ${error.message}`;
    }
  }

  return async (service) => {
    reading ??= read();
    const unknown = await reading;
    return unknown === undefined ? view.of(service) : { unknown };
  };
}
