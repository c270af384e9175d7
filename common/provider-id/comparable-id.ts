import { providerIdCodecs } from './registry.ts';

/** The text that all spellings of one instance's id have in common: two ids of a cloud mean one instance exactly if this is equal. To compare by, never to write. Pure. */
export function comparableId(instance: { readonly cloud: string; readonly id: string }): string {
  const codec = providerIdCodecs.get(instance.cloud);
  return codec?.comparable?.(instance.id) ?? instance.id.toLowerCase();
}
