import { names } from '../../common/well-known.ts';
import type { KubeConnection } from '../kube/connection.ts';
import { type KubeConfigOptions, loadKubeConnection } from '../kube/kube-config.ts';
import { OptionError } from './options/options.ts';

/**
 * Loads the connection to the cluster. Throws an OptionError that names the fault of the kubeconfig or of the Pod's
 * environment.
 */
export async function connectTo(
  kubeconfig: string,
  world: Omit<KubeConfigOptions, 'kubeconfig' | 'rootPrefix'>,
): Promise<KubeConnection> {
  try {
    return await loadKubeConnection({ kubeconfig: kubeconfig || undefined, ...world });
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    throw new OptionError(kubeconfig === '' ? message : `--kubeconfig: ${message}`);
  }
}

/**
 * The namespace of Mooring's own objects.
 *
 * @param given `--mooring-namespace`; empty: that of the Pod, and outside the cluster kube-system
 */
export function installedIn(given: string, { podNamespace }: Pick<KubeConnection, 'podNamespace'>): string {
  return given || podNamespace || names.namespace;
}
