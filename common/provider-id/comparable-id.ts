import { providerIdCodecs } from './registry.ts';

/**
 * The same text for all spellings of an instance's id: two ids of a cloud name one instance exactly if their texts are
 * equal. Only for comparisons. Pure.
 */
export function comparableId(instance: { readonly cloud: string; readonly id: string }): string {
  const codec = providerIdCodecs.get(instance.cloud);
  return codec?.comparable?.(instance.id) ?? instance.id.toLowerCase();
}
