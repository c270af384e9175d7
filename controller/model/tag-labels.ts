import type { Instance } from '../../common/instance.ts';

/** Tags whose key begins with `tagPrefix` become labels: `labelPrefix`, then the rest of the key. */
export interface TagLabelRule {
  readonly tagPrefix: string;
  /** A domain and a slash. */
  readonly labelPrefix: string;
}

const domain = /^(?=.{1,253}\/$)[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*\/$/;
/** Labels of these domains decide about rights, scheduling and our own work. */
const reserved = /(^|\.)(kubernetes\.io|k8s\.io|mooring\.dev)\/$/;

/** Reads `TAGPREFIX=LABELPREFIX`, such as `k8s-label/=example.com/`; undefined where it is none. Pure. */
export function parseTagLabelRule(text: string): TagLabelRule | undefined {
  const at = text.indexOf('=');
  const [tagPrefix, labelPrefix] = [text.slice(0, at), text.slice(at + 1)];
  if (at < 1 || /\s/.test(tagPrefix) || !domain.test(labelPrefix) || reserved.test(labelPrefix)) return undefined;
  return { tagPrefix, labelPrefix };
}

const labelName = /^[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/;

/** A tag's value as that of a label: other characters become `-`, and what Kubernetes refuses at the ends goes. */
function labelValue(text: string): string {
  return text
    .replaceAll(/[^A-Za-z0-9_.-]/g, '-')
    .slice(0, 63)
    .replace(/^[^A-Za-z0-9]+/, '')
    .replace(/[^A-Za-z0-9]+$/, '');
}

/**
 * The labels that the instance's tags ask for. A key that cannot be a label's is left out; of two rules the first one
 * counts. Undefined: the source of the instance shows no tags. Pure.
 */
export function labelsFromTags(
  { tags }: Pick<Instance, 'tags'>,
  rules: readonly TagLabelRule[],
): Readonly<Record<string, string>> | undefined {
  if (tags === undefined || rules.length === 0) return undefined;
  const labels: Record<string, string> = {};
  for (const { tagPrefix, labelPrefix } of rules)
    for (const [key, value] of Object.entries(tags)) {
      const name = key.slice(tagPrefix.length);
      const label = `${labelPrefix}${name}`;
      if (key.startsWith(tagPrefix) && labelName.test(name) && !Object.hasOwn(labels, label))
        labels[label] = labelValue(value);
    }
  return labels;
}

/** What a Node's labels lack of those, and the annotation that names which of them are ours. */
export interface TagLabelChange {
  /** Null: to be removed, since its tag is gone. */
  readonly labels: Readonly<Record<string, string | null>>;
  /** The names of all labels that come from tags, separated by commas. Null: none, to be removed. */
  readonly record: string | null;
}

/**
 * Compares. A label that stands already and is not ours stays as it is. Of those that the record names only the ones
 * that a rule could have made are touched. Undefined: nothing differs. Pure.
 *
 * @param held the Node's labels
 * @param record the Node's annotation
 */
export function tagLabelChange(
  desired: Readonly<Record<string, string>>,
  held: Readonly<Record<string, string>>,
  record: string | undefined,
  rules: readonly TagLabelRule[],
): TagLabelChange | undefined {
  const isInReach = (label: string) => rules.some(({ labelPrefix }) => label.startsWith(labelPrefix));
  const ours = new Set((record ?? '').split(',').filter(isInReach));
  const labels: Record<string, string | null> = {};
  const kept: string[] = [];
  for (const [label, value] of Object.entries(desired)) {
    if (held[label] !== undefined && !ours.has(label)) continue;
    kept.push(label);
    if (held[label] !== value) labels[label] = value;
  }
  for (const label of ours) if (!Object.hasOwn(desired, label) && held[label] !== undefined) labels[label] = null;
  const next = kept.length === 0 ? null : kept.sort().join(',');
  if (Object.keys(labels).length === 0 && next === (record ?? null)) return undefined;
  return { labels, record: next };
}
