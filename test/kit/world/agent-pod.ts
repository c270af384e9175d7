import { mkdir, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { names } from '../../../common/well-known.ts';
import type { KubeRest } from './kube-rest.ts';
import { serviceAccountToken } from './manifests.ts';

/** The files that a kubelet would mount into the agent's pod. */
export interface AgentMounts {
  readonly folder: string;
  readonly tokenFile: string;
  readonly caFile: string;
  readonly urlFile: string;
}

/** Replaces a file at once, as the kubelet does with projected volumes. */
async function replace(file: string, text: string): Promise<void> {
  await writeFile(`${file}.new`, text, { mode: 0o600 });
  await rename(`${file}.new`, file);
}

/**
 * Creates the pod object of the DaemonSet on this node and mounts its token: bound to pod and node, for our audience
 * alone.
 */
export async function createAgentPod(rest: KubeRest, nodeName: string, folder: string): Promise<AgentMounts> {
  await mkdir(folder, { recursive: true });
  const pods = `/api/v1/namespaces/${names.namespace}/pods`;
  const body = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: `${names.agent}-${nodeName}`, labels: { app: names.agent } },
    spec: {
      nodeName,
      serviceAccountName: names.agent,
      hostNetwork: true,
      automountServiceAccountToken: false,
      containers: [{ name: 'agent', image: 'mooring-agent' }],
    },
  };
  const made = await rest.call('POST', pods, body);
  const pod = made.status === 409 ? await rest.must('GET', `${pods}/${body.metadata.name}`) : made.body;
  if (made.status !== 201 && made.status !== 409)
    throw new Error(`agent pod of ${nodeName}: ${made.status} ${made.body?.message}`);
  const token = await serviceAccountToken(
    rest,
    { namespace: names.namespace, name: names.agent },
    { audience: names.audience, pod: { name: pod.metadata.name, uid: pod.metadata.uid } },
  );
  const mounts = {
    folder,
    tokenFile: join(folder, 'token'),
    caFile: join(folder, 'ca.crt'),
    urlFile: join(folder, 'controller-urls'),
  };
  await replace(mounts.tokenFile, token);
  return mounts;
}

/** Keeps the mounted ConfigMap of all agents current, as the kubelets would. A real one lags by up to a minute. */
export function mountConfigMap(
  rest: KubeRest,
  mounts: () => Iterable<AgentMounts>,
  periodMs: number,
): { stop(): void } {
  const seen = new Map<string, string>();
  let timer: NodeJS.Timeout | undefined;
  let stopped = false;

  async function pass(): Promise<void> {
    const answer = await rest.call('GET', `/api/v1/namespaces/${names.namespace}/configmaps/${names.certificates}`);
    const data: Record<string, string> = answer.status === 200 ? (answer.body.data ?? {}) : {};
    for (const { folder, caFile, urlFile } of mounts()) {
      const [ca = '', urls = ''] = [data[names.caKey], data[names.controllerUrlsKey]];
      if (seen.get(folder) === ca + urls) continue;
      await replace(caFile, ca);
      await replace(urlFile, urls);
      seen.set(folder, ca + urls);
    }
  }

  function next(): void {
    if (!stopped)
      timer = setTimeout(
        () =>
          void pass()
            .catch(() => {})
            .then(next),
        periodMs,
      );
  }
  void pass()
    .catch(() => {})
    .then(next);
  return {
    stop() {
      stopped = true;
      clearTimeout(timer);
    },
  };
}
