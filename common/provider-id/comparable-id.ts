import { codecOf } from './registry.ts';

/**
 * The same text for all spellings of an instance's id: two ids of a cloud name one instance exactly if their texts are
 * equal. Only for comparisons. Pure.
 */
export function comparableId(instance: { readonly cloud: string; readonly id: string }): string {
  return codecOf(instance.cloud).comparable?.(instance.id) ?? instance.id.toLowerCase();
}
