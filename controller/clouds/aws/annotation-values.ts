import type { Refusal } from '../../engine/resource.ts';
import { numberIn } from '../annotation-reader.ts';
import { isReservedTag } from '../reserved-tags.ts';
import { keys } from './load-balancer-annotations.ts';
import type { Tags } from './load-balancer-tags.ts';

export type AnnotationValues = ReturnType<typeof readAnnotations>;

const isReserved = (key: string) => key === 'KubernetesCluster' || isReservedTag(key, ['aws:', 'kubernetes.io/']);

/** The items of a list separated by commas, without blank ones. */
export function itemsOf(text: string | undefined): readonly string[] {
  return (text ?? '').split(',').flatMap((item) => item.trim() || []);
}

/** The annotations of one Service. A bad value becomes a refusal with key, value and what is possible. */
export function readAnnotations(annotations: Readonly<Record<string, string>>) {
  const refusals: Refusal[] = [];
  const remarks: string[] = [];
  const unclear = new Set<string>();
  const shown = (key: string) => `${key}: ${JSON.stringify(annotations[key])}`;
  const text = (key: string): string | undefined => annotations[key]?.trim() || undefined;
  const refuse = (key: string, expected: string): undefined => {
    unclear.add(key);
    refusals.push({ reason: 'Unsupported', message: `${shown(key)}, ${expected}` });
  };
  const passOver = (key: string, why: string) => void remarks.push(`${shown(key)}: ${why}`);
  /** Different items, separated by commas. */
  const list = (key: string, form: RegExp, expected: string): readonly string[] | undefined => {
    const items = itemsOf(annotations[key]);
    if (items.every((item) => form.test(item)) && new Set(items).size === items.length) return items;
    return refuse(key, expected);
  };
  return {
    refusals,
    /** Values that the classic controller passes over without a word: what is made is what it would make. */
    remarks,
    /** Keys of bad values. */
    unclear,
    /** Undefined where it is missing or blank. */
    text,
    refuse,
    passOver,
    list,
    // Undefined for a bad value; the default where there is none.
    flag(key: string, byDefault?: boolean): boolean | undefined {
      const value = text(key);
      if (value === undefined) return byDefault;
      if (/^(1|t|true)$/i.test(value)) return true;
      if (/^(0|f|false)$/i.test(value)) return false;
      return refuse(key, 'expected true or false');
    },
    whole(key: string, least: number, most: number, byDefault?: number): number | undefined {
      const value = text(key);
      if (value === undefined) return byDefault;
      return numberIn(least, most)(value) ?? refuse(key, `expected a number, ${least} to ${most}`);
    },
    /** Ids of security groups. */
    groups(key: string): readonly string[] | undefined {
      const named = itemsOf(annotations[key]);
      const ids = [...new Set(named)];
      if (!ids.every((id) => /^sg-[0-9a-z]+$/.test(id))) return refuse(key, 'expected ids sg-…');
      if (named.length > ids.length) passOver(key, 'a group that is named twice is used once');
      return ids;
    },
    /** Whether the load balancer is reached from inside alone. */
    internal(): boolean | undefined {
      const given = annotations[keys.internal]?.trim();
      const internal = given === undefined || given === '' ? undefined : given !== 'false';
      const scheme = text(keys.scheme);
      if (scheme === undefined) return internal ?? false;
      if (scheme !== 'internal' && scheme !== 'internet-facing')
        return refuse(keys.scheme, 'expected internal or internet-facing');
      if (internal !== undefined && internal !== (scheme === 'internal'))
        return refuse(keys.scheme, `contradicts ${shown(keys.internal)}`);
      return scheme === 'internal';
    },
    /** Ids or Name tags; empty = discovered. */
    subnets(): readonly string[] | undefined {
      // Named, and empty: the classic controller discovers none then, so none can be meant.
      if (annotations[keys.subnets] !== undefined && itemsOf(annotations[keys.subnets]).length === 0)
        return refuse(keys.subnets, 'expected subnet ids or Name tags, or no annotation');
      return list(keys.subnets, /^.+$/, 'expected different subnet ids or Name tags');
    },
    /** Pairs without a key are left out, as the classic controller does. */
    tags(): Tags {
      const pairs = itemsOf(annotations[keys.additionalTags]).map((pair) => {
        const at = pair.indexOf('=');
        return at < 0
          ? { pair, key: pair, value: '' }
          : { pair, key: pair.slice(0, at).trim(), value: pair.slice(at + 1).trim() };
      });
      const keyed = pairs.filter(({ key }) => key !== '');
      if (keyed.some(({ key }) => isReserved(key) || key.length > 128)) {
        refuse(keys.additionalTags, 'expected key=value pairs, no key of aws:, kubernetes.io/ or mooring.dev/');
        return {};
      }
      const keyless = pairs.flatMap(({ pair, key }) => (key === '' ? [pair] : []));
      if (keyless.length > 0) passOver(keys.additionalTags, `no key in ${JSON.stringify(keyless.join(','))}`);
      return Object.fromEntries(keyed.map(({ key, value }) => [key, value]));
    },
  };
}
