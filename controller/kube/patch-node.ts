import type { KubeApi, PatchType } from './api.ts';
import { nodePath } from './node-path.ts';

interface PatchNodeOptions {
  /** Default `strategic-merge`. A `merge` patch replaces lists, taints too. */
  readonly patch?: PatchType;
  /** Whether the status is patched; otherwise everything else is. */
  readonly status?: boolean;
}

/** Patches one Node. Resolves with its new resourceVersion. Throws a KubeError. */
export async function patchNode(
  api: KubeApi,
  name: string,
  body: object,
  { patch = 'strategic-merge', status = false }: PatchNodeOptions = {},
): Promise<string> {
  const path = status ? `${nodePath(name)}/status` : nodePath(name);
  const { metadata } = await api.call<{ readonly metadata: { readonly resourceVersion: string } }>({
    verb: 'patch',
    path,
    patch,
    answer: 'metadata',
    body,
  });
  return metadata.resourceVersion;
}
