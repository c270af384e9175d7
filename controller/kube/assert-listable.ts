import type { KubeApi } from './api.ts';

/**
 * Throws a KubeError if one of these paths may not be listed. A cache would retry for ever, which is right for a
 * controller and wrong for a command.
 */
export async function assertListable(api: KubeApi, paths: readonly string[]): Promise<void> {
  await Promise.all(paths.map((path) => api.call({ verb: 'list', path, query: { limit: '1' } })));
}
