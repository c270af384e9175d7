import type { Clock } from '../../../common/process/clock.ts';
import { names } from '../../../common/well-known.ts';
import { isPlainMember } from './network-truth.ts';
import { type NodeObject, nodeOf } from './node-object.ts';
import type { Observer, ProcessRef } from './observer.ts';
import { type ServiceObject, serviceOf } from './service-object.ts';

const briefMs = 3000;

/** What one process was told of the cluster, as it stands for it now. */
export interface View {
  readonly nodes: Map<string, { readonly node: NodeObject; readonly plainSince: number | undefined }>;
  readonly services: Map<string, { readonly service: ServiceObject; readonly sinceMs: number }>;
  /** Uids of all that it was ever told of. */
  readonly everServices: Set<string>;
  /** Names seen since the list began. */
  listing: Map<string, Set<string>>;
  allPausedSince: number | undefined;
  /** Nodes that it knew and that went: whether anything on them had foretold it. By instance. */
  readonly gone: Map<string, { readonly foretold: boolean; readonly at: number }>;
}

/** What each process was told, by lists and watches. */
export interface Views extends Observer {
  of(process: ProcessRef): View;
}

export function collectViews(clock: Clock): Views {
  const views = new Map<string, View>();
  const configMap = `${names.namespace}/${names.certificates}`;

  function viewOf({ identity }: ProcessRef): View {
    const known = views.get(identity);
    if (known !== undefined) return known;
    const made: View = {
      nodes: new Map(),
      services: new Map(),
      everServices: new Set(),
      listing: new Map(),
      allPausedSince: undefined,
      gone: new Map(),
    };
    views.set(identity, made);
    return made;
  }

  function forgetNode(view: View, key: string): void {
    const held = view.nodes.get(key);
    view.nodes.delete(key);
    if (held === undefined) return;
    const foretold = held.plainSince === undefined;
    const instance = held.node.providerID.split('/').at(-1) ?? '';
    const now = clock.monotonic();
    // A Node that shows up for a moment may be missed: what is told together is looked at once.
    const wasBrief = held.plainSince !== undefined && now - held.plainSince < briefMs;
    if (!wasBrief) view.gone.set(instance, { foretold, at: now });
  }

  return {
    of: viewOf,
    told({ process, resource, key, object, at, list }) {
      const view = viewOf(process);
      if (list) {
        const names = view.listing.get(resource) ?? new Set();
        view.listing.set(resource, names);
        names.add(key);
      }
      if (resource === 'nodes') {
        const node = nodeOf(object);
        const held = view.nodes.get(key);
        if (node === undefined) forgetNode(view, key);
        else {
          const before = held?.node.uid === node.uid && held.node.providerID === node.providerID ? held : undefined;
          const plainSince = isPlainMember(node) ? (before?.plainSince ?? at) : undefined;
          view.nodes.set(key, { node, plainSince });
        }
      } else if (resource === 'services') {
        const service = serviceOf(object);
        const held = view.services.get(key);
        if (service === undefined) view.services.delete(key);
        else {
          const { uid, wants, paused } = service;
          view.everServices.add(uid);
          const same = held?.service.uid === uid && held.service.wants === wants && held.service.paused === paused;
          view.services.set(key, { service, sinceMs: same ? held.sinceMs : at });
        }
      } else if (resource === 'configmaps' && key === configMap) {
        const data = (object as { data?: Record<string, string> } | undefined)?.data;
        view.allPausedSince = data?.[names.pausedKey] === 'true' ? (view.allPausedSince ?? at) : undefined;
      }
    },
    listing: (process, resource) => void viewOf(process).listing.delete(resource),
    listed(process, resource) {
      const view = viewOf(process);
      const seen = view.listing.get(resource) ?? new Set();
      view.listing.delete(resource);
      const held = resource === 'nodes' ? view.nodes : resource === 'services' ? view.services : undefined;
      for (const key of [...(held?.keys() ?? [])]) {
        if (seen.has(key)) continue;
        if (held === view.nodes) forgetNode(view, key);
        else held?.delete(key);
      }
    },
  };
}
