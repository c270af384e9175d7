import { annotations } from '../../common/well-known.ts';
import { patchNode } from '../kube/patch-node.ts';
import { requiresAttestation } from '../model/attested.ts';
import { isPaused, isUninitialized, type NodeView } from '../model/node-view.ts';
import { answeringCloud } from '../model/ownership.ts';
import { printRecord } from '../model/scope-record.ts';
import type { InstanceCache } from './instance-cache.ts';
import { contradiction, isProved } from './instance-identity.ts';
import { type NodeContext, reportOf } from './node-context.ts';

const askAgainMs = 60_000;

/**
 * Records on a Node that its instance was found, and where: without that its absence proves nothing. The loop for Nodes
 * does so when it initialises and updates them; this is for a run without that loop, whose Nodes another controller
 * initialises. Nothing else of the Node is written. Safe to repeat. Throws a KubeError.
 */
export async function recordInstance(
  context: NodeContext,
  instances: InstanceCache,
  name: string,
): Promise<{ readonly requeueAfterMs?: number } | undefined> {
  const { api, clock, nodes, resolver } = context;
  const node = nodes.get(name);
  if (node === undefined || !lacksRecord(node)) return undefined;
  const cloud = answeringCloud(node, resolver.configured);
  if (cloud === undefined) return undefined;
  if (context.paused()) return { requeueAfterMs: askAgainMs };
  const { scope } = cloud;
  const lookup = await resolver.lookupsOf(scope)?.lookup({ by: 'providerID', providerID: node.providerID });
  if (lookup?.state !== 'found') return { requeueAfterMs: askAgainMs };
  const { instance } = lookup;
  if (nodes.get(name)?.uid !== node.uid) return undefined;
  instances.put(name, { uid: node.uid, instance, scope, readAtMs: clock.monotonic() });
  const stored = reportOf(context, node);
  const attested = stored?.attestation?.instance;
  // A kubelet may register its Node without the taint and with the providerID of another VM.
  const lacksProof = requiresAttestation(instance.cloud, resolver.configured) && !isProved(node, instance, attested);
  if (lacksProof || contradiction(node, instance, stored?.report, attested) !== undefined)
    return { requeueAfterMs: askAgainMs };
  const { uid, resourceVersion } = node;
  const record = { [annotations.instance]: printRecord(scope, instance) };
  await patchNode(api, name, { metadata: { uid, resourceVersion, annotations: record } }, { patch: 'merge' });
  return undefined;
}

function lacksRecord(node: NodeView): boolean {
  const isOurs = node.annotations[annotations.instance] === undefined && node.providerID !== '';
  return isOurs && !node.deleting && !isUninitialized(node) && !isPaused(node);
}
