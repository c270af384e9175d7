import type { Instance } from '../../common/instance.ts';
import { reportedLabels } from '../../common/report.ts';
import { annotations, conditions, labels as labelKeys } from '../../common/well-known.ts';
import { type AddressView, conditionOf, isUninitialized, type NodeView } from '../model/node-view.ts';
import { cloudOfReportScope, parseRecord, printRecord } from '../model/scope-record.ts';
import { labelsFromTags, type TagLabelRule, tagLabelChange } from '../model/tag-labels.ts';
import type { VerifiedInstance } from '../model/verified-instance.ts';
import { parseProvidedNodeIP, preferProvided, withHostnames } from './addresses.ts';
import type { InitializedReason } from './reasons.ts';

/** The desired fields of a Node, as far as this controller writes them. */
export interface DesiredNode {
  /** Undefined: it is set already, and immutable. */
  readonly providerID: string | undefined;
  /** Only those that differ from the Node's. Null: to be removed. */
  readonly labels: Readonly<Record<string, string | null>>;
  /** The annotation that names the labels from tags; undefined: it stays as it is, null: to be removed. */
  readonly tagRecord: string | null | undefined;
  readonly record: string;
  /** Undefined: the cloud lists none, so the Node's addresses stay. */
  readonly addresses: readonly AddressView[] | undefined;
  readonly reason: Extract<InitializedReason, 'Initialized' | 'TopologyDrift'>;
  readonly message: string;
}

export interface DesiredNodeOptions {
  readonly proof?: VerifiedInstance['assurance'] | undefined;
  readonly tagLabels?: readonly TagLabelRule[] | undefined;
}

export type Desired =
  | { readonly ok: true; readonly node: DesiredNode }
  | {
      readonly ok: false;
      readonly reason: Extract<InitializedReason, 'AwaitingCloud' | 'IdentityConflict' | 'InvalidNodeIP'>;
      readonly message: string;
    };

/** Label domains of Kubernetes, which a cloud's additional labels may not use; upstream's rule. */
const reserved = /(^|\.)(kubernetes|k8s)\.io\//;

const topology = [
  ['zone', labelKeys.zone, labelKeys.zoneBeta],
  ['region', labelKeys.region, labelKeys.regionBeta],
] as const;

/**
 * Plans the desired Node for the instance that it runs on. Pure.
 *
 * @param options.proof to be recorded in a label of the Node
 * @param options.tagLabels which tags become labels; a report alone has none
 */
export function desiredNode(
  node: NodeView,
  instance: Instance,
  scope: string,
  { proof, tagLabels = [] }: DesiredNodeOptions = {},
): Desired {
  if (isUninitialized(node) && instance.placeUnknown !== undefined)
    return { ok: false, reason: 'AwaitingCloud', message: instance.placeUnknown };
  const providedText = node.annotations[annotations.providedNodeIP];
  const provided = providedText === undefined ? { ok: true as const, ips: [] } : parseProvidedNodeIP(providedText);
  if (!provided.ok)
    return { ok: false, reason: 'InvalidNodeIP', message: `${annotations.providedNodeIP} ${provided.message}` };

  let addresses: readonly AddressView[] | undefined;
  if (instance.addresses.length > 0) {
    const own = instance.keepsInternalIPs ? node.addresses.filter(({ type }) => type === 'InternalIP') : [];
    const chosen = preferProvided([...instance.addresses, ...own], provided.ips);
    if (!chosen.ok) return { ok: false, reason: 'IdentityConflict', message: chosen.message };
    addresses = withHostnames(chosen.addresses, node.addresses);
  }

  const drift = isUninitialized(node) ? [] : (keptDrift(node, instance) ?? topologyDrift(node, instance));
  const { extra, unknown } = extraLabels(node, instance, cloudOfReportScope(scope) !== undefined);
  const { labels, refused } = acceptable({ ...extra, ...wellKnownLabels(node, instance) });
  const tagged = labelsFromTags(instance, tagLabels);
  const ofTags = tagged && tagLabelChange(tagged, node.labels, node.annotations[annotations.labelsFromTags], tagLabels);
  const parts = [
    drift.length > 0 ? drift.join('; ') : 'up to date with the cloud',
    ...(unknown.length > 0 ? [`left out, since no agent sets it: ${unknown.join(', ')}`] : []),
    ...(refused.length > 0 ? [`left out, since Kubernetes would refuse it: ${refused.join(', ')}`] : []),
  ];
  return {
    ok: true,
    node: {
      providerID: node.providerID === '' ? instance.providerID : undefined,
      labels: { ...labels, ...ofTags?.labels, ...proofLabel(node, proof) },
      tagRecord: ofTags?.record,
      record: recordOf(node, scope, instance),
      addresses,
      reason: drift.length > 0 ? 'TopologyDrift' : 'Initialized',
      message: parts.join('; '),
    },
  };
}

function proofLabel(node: NodeView, proof: VerifiedInstance['assurance'] | undefined): Record<string, string> {
  const value = proof?.replace('psat+', '');
  return value === undefined || node.labels[labelKeys.attested] === value ? {} : { [labelKeys.attested]: value };
}

/** A report proves less than an API, so it never replaces the record of an API. */
function recordOf(node: NodeView, scope: string, instance: Instance): string {
  const held = node.annotations[annotations.instance];
  const recorded = parseRecord(held)?.scope;
  const byApi = recorded !== undefined && cloudOfReportScope(recorded) === undefined;
  return held !== undefined && byApi && cloudOfReportScope(scope) !== undefined ? held : printRecord(scope, instance);
}

const labelKey = /^(?:[a-z0-9](?:[-a-z0-9.]{0,251}[a-z0-9])?\/)?[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/;
const labelValue = /^(?:[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$/;

/**
 * Drops labels that Kubernetes would refuse, such as a flavour with spaces in its name: one of them would fail the
 * whole write.
 */
function acceptable(candidates: Readonly<Record<string, string>>) {
  const labels: Record<string, string> = {};
  const refused: string[] = [];
  for (const [key, value] of Object.entries(candidates)) {
    if (labelKey.test(key) && labelValue.test(value)) labels[key] = value;
    else refused.push(`${key}=${JSON.stringify(value)}`);
  }
  return { labels, refused };
}

/** What was said last, while the cloud cannot tell the place: it must not come and go with each answer. */
function keptDrift(node: NodeView, { placeUnknown }: Instance): string[] | undefined {
  const shown = conditionOf(node, conditions.cloudInitialized);
  return placeUnknown !== undefined && shown?.reason === 'TopologyDrift' ? [shown.message] : undefined;
}

function topologyDrift(node: NodeView, instance: Instance): string[] {
  return topology.flatMap(([part, stable, beta]) => {
    const [held, observed] = [node.labels[beta] ?? node.labels[stable], instance[part]];
    return held !== undefined && observed !== undefined && held !== observed
      ? [`${part} label ${held}, the cloud says ${observed}`]
      : [];
  });
}

/**
 * Zone and region are set once, while the Node waits for initialisation, over any earlier value, as upstream does.
 * Afterwards the beta label holds that value and the stable label is reset to it, as upstream does. Without a beta
 * label, the stable one is written only where it is missing. The instance type follows the cloud, unless a person
 * changed the label: it then differs from the beta label, which only cloud controllers write.
 */
function wellKnownLabels(node: NodeView, instance: Instance): Record<string, string> {
  const changes: Record<string, string> = {};
  const set = (key: string, value: string) => {
    if (node.labels[key] !== value) changes[key] = value;
  };
  const joining = isUninitialized(node);
  for (const [part, stable, beta] of topology) {
    const [observed, first] = [instance[part], node.labels[beta]];
    if (joining && observed !== undefined) {
      set(stable, observed);
      set(beta, observed);
    } else if (!joining && first !== undefined) {
      set(stable, first);
    } else if (!joining && observed !== undefined && node.labels[stable] === undefined) {
      set(stable, observed);
    }
  }
  if (instance.type !== undefined) {
    const [held, beta] = [node.labels[labelKeys.instanceType], node.labels[labelKeys.instanceTypeBeta]];
    const setByPerson = !joining && held !== undefined && held !== beta;
    if (!setByPerson) {
      set(labelKeys.instanceType, instance.type);
      set(labelKeys.instanceTypeBeta, instance.type);
    }
  }
  return changes;
}

/** A report alone sets only the labels that agents know: other labels decide where volumes and pods go. */
function extraLabels(node: NodeView, instance: Instance, reportOnly: boolean) {
  const observed = Object.entries(instance.labels ?? {}).filter(([key]) => !reserved.test(key));
  const unknown = reportOnly ? observed.map(([key]) => key).filter((key) => !reportedLabels.has(key)) : [];
  const added = observed.filter(([key]) => node.labels[key] === undefined && !unknown.includes(key));
  return { extra: Object.fromEntries(added), unknown };
}
