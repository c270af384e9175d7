import type { Instance } from '../../common/instance.ts';
import { comparableId } from '../../common/provider-id/comparable-id.ts';
import { codecOf } from '../../common/provider-id/registry.ts';
import type { Report } from '../../common/report.ts';
import { swapped } from '../../common/smbios-uuid.ts';
import { annotations } from '../../common/well-known.ts';
import { documentContradicts, documentNames, isAttested } from '../model/attested.ts';
import type { NodeView } from '../model/node-view.ts';
import { parseRecord } from '../model/scope-record.ts';
import type { VerifiedInstance } from '../model/verified-instance.ts';

/** Placeholders of firmware vendors, which identify no machine. */
const placeholderUuids: ReadonlySet<string> = new Set([
  '00000000-0000-0000-0000-000000000000',
  'ffffffff-ffff-ffff-ffff-ffffffffffff',
  '03000200-0400-0500-0006-000700080009',
  '12345678-1234-5678-90ab-cddeefaabbcc',
]);
const uuidShape = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** Undefined when either is missing or a placeholder. */
function sameMachine(one: string | undefined, other: string | undefined): boolean | undefined {
  const [a, b] = [(one ?? '').toLowerCase(), (other ?? '').toLowerCase()];
  if (!uuidShape.test(a) || !uuidShape.test(b) || placeholderUuids.has(a) || placeholderUuids.has(b)) return undefined;
  return a === b || swapped(a) === b;
}

/** Whether two SMBIOS UUIDs name different machines. False when either is missing or a placeholder. */
export function uuidsContradict(one: string | undefined, other: string | undefined): boolean {
  return sameMachine(one, other) === false;
}

/** Whether two SMBIOS UUIDs name the same machine. False when either is missing or a placeholder. */
export function uuidsAgree(one: string | undefined, other: string | undefined): boolean {
  return sameMachine(one, other) === true;
}

/** Whether a providerID names this instance, in any spelling that its cloud accepts. */
export function namesInstance(providerID: string, instance: Pick<Instance, 'cloud' | 'id' | 'providerID'>): boolean {
  return providerID === instance.providerID || isNamed(providerID, instance);
}

/** As `namesInstance`, by the id alone. */
export function isNamed(providerID: string, instance: Pick<Instance, 'cloud' | 'id'>): boolean {
  const id = codecOf(instance.cloud).parse(providerID)?.instanceId;
  return id !== undefined && comparableId({ cloud: instance.cloud, id }) === comparableId(instance);
}

/** Whether it is proved that the Node runs on this instance. The label proves the instance of the providerID. Pure. */
export function isProved(node: NodeView, instance: Instance, attested: VerifiedInstance | undefined): boolean {
  if (attested !== undefined && documentContradicts(attested, instance) !== undefined) return false;
  if (isAttested(node) && namesInstance(node.providerID, instance)) return true;
  return attested !== undefined && documentNames(attested, instance);
}

/**
 * Why `node` cannot run on `instance`, as text for people; undefined when nothing contradicts it. `report` is proved to
 * come from this Node; `attested` is what its evidence proved. Pure.
 *
 * @param acceptsRebuild whether a report of the new incarnation is enough for a Node that records another one
 */
export function contradiction(
  node: NodeView,
  instance: Instance,
  report: Report | undefined,
  attested?: VerifiedInstance,
  acceptsRebuild = false,
): string | undefined {
  if (node.providerID !== '' && !namesInstance(node.providerID, instance)) {
    return `the Node's providerID is ${node.providerID}, the instance's ${instance.providerID}`;
  }
  const document = attested && documentContradicts(attested, instance);
  if (document !== undefined) return document;
  const reported = report?.instance?.cloud === instance.cloud ? report.instance : undefined;
  const recorded = parseRecord(node.annotations[annotations.instance])?.incarnation;
  if (
    recorded &&
    instance.incarnation &&
    recorded !== instance.incarnation &&
    !(acceptsRebuild && reported?.incarnation === instance.incarnation)
  ) {
    return (
      `the instance was rebuilt: recorded incarnation ${recorded}, now ${instance.incarnation}, ` +
      'and no report proves that the Node runs on it'
    );
  }
  if (uuidsContradict(report?.smbiosUuid, node.systemUuid)) {
    return `the agent's machine has SMBIOS UUID ${report?.smbiosUuid}, the kubelet's ${node.systemUuid}`;
  }
  if (uuidsContradict(instance.smbiosUuid, node.systemUuid)) {
    return `instance ${instance.id} has SMBIOS UUID ${instance.smbiosUuid}, the Node ${node.systemUuid}`;
  }
  if (reported && comparableId(reported) !== comparableId(instance)) {
    return `the agent reports instance ${reported.id}, the Node stands for ${instance.id}`;
  }
  if (
    reported?.incarnation !== undefined &&
    instance.incarnation !== undefined &&
    reported.incarnation !== instance.incarnation
  ) {
    return `the agent reports incarnation ${reported.incarnation}, the cloud's API ${instance.incarnation}`;
  }
  return undefined;
}
