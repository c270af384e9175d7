import { keys } from './load-balancer-annotations.ts';
import { isReservedTag, type Tags } from './load-balancer-tags.ts';

type Annotations = Readonly<Record<string, string>>;

/** The items of a list separated by commas, without blank ones. */
export function itemsOf(text: string | undefined): readonly string[] {
  return (text ?? '').split(',').flatMap((item) => item.trim() || []);
}

/** Where a load balancer is reached from, or what was expected of an annotation of which this cannot be told. */
export function readInternal(
  annotations: Annotations,
): { readonly internal: boolean } | { readonly key: string; readonly expected: string } {
  const text = annotations[keys.internal]?.trim();
  const internal = text === undefined || text === '' ? undefined : text !== 'false';
  const scheme = annotations[keys.scheme]?.trim() || undefined;
  if (scheme === undefined) return { internal: internal ?? false };
  if (scheme !== 'internal' && scheme !== 'internet-facing')
    return { key: keys.scheme, expected: 'expected internal or internet-facing' };
  if (internal !== undefined && internal !== (scheme === 'internal'))
    return {
      key: keys.scheme,
      expected: `contradicts ${keys.internal}: ${JSON.stringify(annotations[keys.internal])}`,
    };
  return { internal: scheme === 'internal' };
}

/** Named, and empty: the classic controller discovers none then, so none can be meant. */
export function namesNoSubnet(annotations: Annotations): boolean {
  return annotations[keys.subnets] !== undefined && itemsOf(annotations[keys.subnets]).length === 0;
}

/** Pairs without a key are left out, as the classic controller does. */
export function readAdditionalTags(
  annotations: Annotations,
): { readonly tags: Tags; readonly keyless: readonly string[] } | { readonly expected: string } {
  const pairs = itemsOf(annotations[keys.additionalTags]).map((pair) => {
    const at = pair.indexOf('=');
    return at < 0
      ? { pair, key: pair, value: '' }
      : { pair, key: pair.slice(0, at).trim(), value: pair.slice(at + 1).trim() };
  });
  const keyed = pairs.filter(({ key }) => key !== '');
  if (keyed.some(({ key }) => isReservedTag(key) || key.length > 128))
    return { expected: 'expected key=value pairs, no key of aws:, kubernetes.io/ or mooring.dev/' };
  return {
    tags: Object.fromEntries(keyed.map(({ key, value }) => [key, value])),
    keyless: pairs.flatMap(({ pair, key }) => (key === '' ? [pair] : [])),
  };
}

/** What is said of values that the classic controller passes over: what is made is what it would make. */
export function passedOver(annotations: Annotations, key: string, why: string): string {
  return `${key}: ${JSON.stringify(annotations[key])}: ${why}`;
}
