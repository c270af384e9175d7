import type { Instance } from '../../common/instance.ts';
import { comparableId } from '../../common/provider-id/comparable-id.ts';
import { providerIdCodecs } from '../../common/provider-id/registry.ts';
import { labels } from '../../common/well-known.ts';
import type { ConfiguredCloud } from './configured-cloud.ts';
import type { NodeView } from './node-view.ts';
import type { VerifiedInstance } from './verified-instance.ts';

/** Whether `--require-attestation` names this cloud. */
export function requiresAttestation(cloud: string, configured: readonly ConfiguredCloud[]): boolean {
  return configured.some(({ name, requireAttestation = false }) => requireAttestation && name === cloud);
}

/**
 * Whether the agent of this Node object once gave evidence under `--require-attestation`. The label is deleted with the
 * Node and NodeRestriction keeps kubelets from writing it, so it survives restarts and changes of leader, and no
 * kubelet can set it.
 */
export function isAttested(node: NodeView): boolean {
  return (node.labels[labels.attested] ?? '') !== '';
}

/** Why the document cannot be of this instance, as text for people; undefined when nothing contradicts it. Pure. */
export function documentContradicts(attested: VerifiedInstance, instance: Instance): string | undefined {
  const { cloud, id, incarnation, idPrefix } = attested;
  if (cloud !== instance.cloud) {
    return `the signed document of the VM is of cloud ${cloud}, the Node stands for ${instance.providerID}`;
  }
  if (id !== undefined && comparableId({ cloud, id }) !== comparableId(instance)) {
    return `the signed document of the VM names instance ${id}, the Node stands for ${instance.id}`;
  }
  if (incarnation !== undefined && instance.incarnation !== undefined && incarnation !== instance.incarnation) {
    return `the signed document of the VM names incarnation ${incarnation}, the instance's is ${instance.incarnation}`;
  }
  if (idPrefix !== undefined && !instance.id.toLowerCase().startsWith(idPrefix)) {
    return `the signed document of the VM is of ${idPrefix}, the Node stands for ${instance.id}`;
  }
  return undefined;
}

/** Whether the document contradicts a Node's providerID; never while the Node has none. Pure. */
export function documentContradictsProviderID(attested: VerifiedInstance, providerID: string): boolean {
  if (providerID === '') return false;
  const { cloud } = attested;
  const id = providerIdCodecs.get(cloud)?.parse(providerID)?.instanceId;
  return id === undefined || documentContradicts(attested, { cloud, id, providerID, addresses: [] }) !== undefined;
}

/** Whether the document names this instance, which is more than not contradicting it. Pure. */
export function documentNames({ id, incarnation }: VerifiedInstance, instance: Instance): boolean {
  return id !== undefined || (incarnation !== undefined && incarnation === instance.incarnation);
}

/** Replaces the zone and region of a report by the signed ones. Pure. */
export function withSignedPlace(instance: Instance, attested: VerifiedInstance | undefined): Instance {
  const { zone = instance.zone, region = instance.region } = attested ?? {};
  return { ...instance, ...(zone !== undefined && { zone }), ...(region !== undefined && { region }) };
}
