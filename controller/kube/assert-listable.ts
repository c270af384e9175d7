import type { KubeApi } from './api.ts';

/** Throws the KubeError of whoever may not list what stands at a path. A cache would try again for ever, which is right for a controller and wrong for a command. */
export async function assertListable(api: KubeApi, paths: readonly string[]): Promise<void> {
  await Promise.all(paths.map((path) => api.call({ verb: 'list', path, query: { limit: '1' } })));
}
