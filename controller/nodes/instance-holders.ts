import type { Instance } from '../../common/instance.ts';
import { codecOf } from '../../common/provider-id/registry.ts';
import { documentContradicts, requiresAttestation } from '../model/attested.ts';
import { createInstanceClaims, instanceKey } from '../model/instance-claims.ts';
import { isUninitialized, type NodeView, readiness } from '../model/node-view.ts';
import { ownershipOf } from '../model/ownership.ts';
import type { InstanceCache } from './instance-cache.ts';
import { isProved } from './instance-identity.ts';
import { type NodeContext, reportOf } from './node-context.ts';

/** Which Node holds which instance, against all others that name it. */
export interface InstanceHolders {
  /** Records that an initialised Node holds the instance that it names. */
  note(node: NodeView): void;
  /** Whether the Node may hold this instance against others. */
  mayHold(node: NodeView, instance: Instance): boolean;
  /** Claims the instance for the Node, if it may hold it. Returns the name of another Node that holds it already. */
  claim(node: NodeView, instance: Instance): string | undefined;
  release(nodeName: string): void;
}

export function createInstanceHolders(
  context: Pick<NodeContext, 'nodes' | 'resolver' | 'reports'>,
  instances: InstanceCache,
): InstanceHolders {
  const { nodes, resolver } = context;
  const claims = createInstanceClaims();

  function note(node: NodeView): void {
    if (isUninitialized(node)) return;
    const instance = instanceOf(node);
    if (instance && mayHold(node, instance)) claims.note(instanceKey(instance), node.name);
  }

  /** The cached instance of the Node; before the first lookup, one with only the id of its providerID. */
  function instanceOf(node: NodeView): Instance | undefined {
    const found = instances.get(node.name, node.uid)?.instance;
    if (found !== undefined) return found;
    const ownership = ownershipOf(node, resolver.configured);
    const cloud = ownership.kind === 'owned' ? ownership.clouds[0]?.name : undefined;
    const id = cloud && codecOf(cloud).parse(node.providerID)?.instanceId;
    return cloud && id ? { cloud, id, providerID: node.providerID, addresses: [] } : undefined;
  }

  /**
   * A kubelet may register a Node with any providerID and without the taint. Such a Node holds no instance that its
   * signed document contradicts, and where proof is required, none that is not proved of it. A report that contradicts
   * is not enough: an agent that errs would give the instance of its Node away.
   */
  function mayHold(node: NodeView, instance: Instance): boolean {
    const attested = reportOf(context, node)?.attestation?.instance;
    if (requiresAttestation(instance.cloud, resolver.configured)) return isProved(node, instance, attested);
    return attested === undefined || documentContradicts(attested, instance) === undefined;
  }

  /**
   * A holder is judged by its own cached instance, never by the data of the Node that claims it. A Node with
   * Ready=False has a living kubelet. Only with Ready=Unknown may another Node have taken its VM.
   */
  function holds(name: string): boolean {
    const node = nodes.get(name);
    if (node === undefined || node.deleting || readiness(node) === 'Unknown') return false;
    const instance = instanceOf(node);
    return instance !== undefined && mayHold(node, instance);
  }

  function claim(node: NodeView, instance: Instance): string | undefined {
    const key = instanceKey(instance);
    if (mayHold(node, instance)) return claims.take(key, node.name, holds);
    claims.release(node.name);
    return claims.holder(key, node.name, holds);
  }

  return { note, mayHold, claim, release: claims.release };
}
