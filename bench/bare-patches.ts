import { Agent, request } from 'node:https';
import nodeFetch from 'node-fetch';

import type { BenchApi } from './start-bench-api.ts';

/** How the patches are sent. */
export interface BarePatchesWay {
  client: 'node-fetch' | 'node:https';
  /** Connections, and nodes in work at once. */
  sockets: number;
  /** Ask for the metadata of the patched object only, or all of it. */
  answer: 'whole' | 'metadata';
}

export interface BarePatchesResult {
  /** Of making the Nodes. */
  createMs: number;
  wallMs: number;
  /** CPU of this process alone, user and system. */
  clientCpuMs: number;
  /** CPU of the API server alone, where it tells. */
  serverCpuMs: number | undefined;
  patches: number;
  bytesReceived: number;
}

type Send = (
  method: string,
  path: string,
  body: unknown,
  type: string,
) => Promise<{ status: number; object: { metadata: { resourceVersion: string } }; bytes: number }>;

const strategic = 'application/strategic-merge-patch+json';
const merge = 'application/merge-patch+json';
const accept = {
  whole: 'application/json',
  metadata: 'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1',
};
const uninitialized = { key: 'node.cloudprovider.kubernetes.io/uninitialized', value: 'true', effect: 'NoSchedule' };
const notReady = { key: 'node.kubernetes.io/not-ready', effect: 'NoSchedule' };

/** Of which a kubelet makes a Node. */
export interface Machine {
  readonly name: string;
  readonly smbiosUuid?: string;
}

export interface FreshNode {
  readonly metadata: object;
  readonly spec: object;
  readonly status: object;
}

/** A Node as a kubelet with an external cloud provider registers it: of about 12 KB, most of it its image list. */
export function freshNode(
  { name, smbiosUuid = '' }: Machine,
  { images = 44 }: { readonly images?: number } = {},
): FreshNode {
  const image = (i: number) => ({
    names: [
      `registry.example.internal:5000/team-${i}/service-with-a-name-${i}@sha256:${'0123456789abcdef'.repeat(4)}`,
      `registry.example.internal:5000/team-${i}/service-with-a-name-${i}:v1.${i}.0`,
    ],
    sizeBytes: 100_000_000 + i,
  });
  const condition = (type: string, status: string) => ({
    type,
    status,
    reason: `Kubelet${type}`,
    message: `kubelet has nothing to say about ${type}`,
    lastHeartbeatTime: '2026-01-01T00:00:00Z',
    lastTransitionTime: '2026-01-01T00:00:00Z',
  });
  return {
    metadata: {
      name,
      labels: { 'kubernetes.io/hostname': name, 'kubernetes.io/os': 'linux', 'kubernetes.io/arch': 'amd64' },
    },
    spec: { taints: [uninitialized] },
    status: {
      capacity: { cpu: '4', memory: '16Gi', pods: '110', 'ephemeral-storage': '100Gi' },
      allocatable: { cpu: '4', memory: '15Gi', pods: '110', 'ephemeral-storage': '90Gi' },
      conditions: ['MemoryPressure', 'DiskPressure', 'PIDPressure']
        .map((type) => condition(type, 'False'))
        .concat(condition('Ready', 'True')),
      addresses: [{ type: 'Hostname', address: name }],
      nodeInfo: {
        systemUUID: smbiosUuid,
        kubeletVersion: 'v1.36.2',
        osImage: 'Linux',
        kernelVersion: '6.1.0',
        containerRuntimeVersion: 'containerd://2.0.0',
      },
      images: Array.from({ length: images }, (_, i) => image(i)),
    },
  };
}

/** Makes Nodes as kubelets register them; answers how long it took. */
export async function createNodes(
  api: BenchApi['api'],
  machines: readonly Machine[],
  sockets: number,
): Promise<number> {
  const agent = new Agent({ ca: api.caPem, keepAlive: true, maxSockets: sockets });
  try {
    return await registerNodes(overHttps(api, agent, accept.metadata), machines, sockets);
  } finally {
    agent.destroy();
  }
}

async function registerNodes(send: Send, machines: readonly Machine[], sockets: number): Promise<number> {
  const started = performance.now();
  await eachOf([...machines], sockets, async (machine) => {
    const { status } = await send('POST', '/api/v1/nodes', freshNode(machine), 'application/json');
    if (status !== 201) throw new Error(`creating ${machine.name}: ${status}`);
  });
  return performance.now() - started;
}

/**
 * Makes `count` Nodes, then times two patches on each as a cloud controller sends them: status (addresses and a
 * condition), then the object (providerID, labels, taint off) guarded by the resourceVersion of the first answer.
 * Throws when any patch is not answered 200. Removes the Nodes.
 */
export async function measureBarePatches(
  api: BenchApi['api'],
  count: number,
  way: BarePatchesWay,
): Promise<BarePatchesResult> {
  const agent = new Agent({ ca: api.caPem, keepAlive: true, maxSockets: way.sockets });
  const sender = way.client === 'node-fetch' ? overNodeFetch : overHttps;
  const prefix = `bench-${Math.random().toString(36).slice(2, 7)}`;
  const names = Array.from({ length: count }, (_, i) => `${prefix}-${i}`);
  const make = overHttps(api, agent, accept.metadata);
  const send = sender(api, agent, accept[way.answer]);
  try {
    const createMs = await registerNodes(
      make,
      names.map((name) => ({ name })),
      way.sockets,
    );
    let bytesReceived = 0;
    const serverBefore = await serverCpu(api, agent);
    const cpu = process.cpuUsage();
    const started = performance.now();
    await eachOf(names, way.sockets, async (name, i) => {
      const first = await send('PATCH', `/api/v1/nodes/${name}/status`, statusPatch(name, i), strategic);
      const { resourceVersion } = first.object.metadata;
      const second = await send('PATCH', `/api/v1/nodes/${name}`, mainPatch(resourceVersion, i), merge);
      if (first.status !== 200 || second.status !== 200) throw new Error(`${name}: ${first.status}, ${second.status}`);
      bytesReceived += first.bytes + second.bytes;
    });
    const wallMs = performance.now() - started;
    const used = process.cpuUsage(cpu);
    const serverAfter = await serverCpu(api, agent);
    return {
      createMs,
      wallMs,
      clientCpuMs: (used.user + used.system) / 1000,
      serverCpuMs: serverBefore === undefined || serverAfter === undefined ? undefined : serverAfter - serverBefore,
      patches: 2 * count,
      bytesReceived,
    };
  } finally {
    await eachOf(names, way.sockets, (name) => make('DELETE', `/api/v1/nodes/${name}`, undefined, 'application/json'));
    agent.destroy();
  }
}

/** CPU milliseconds of the server so far, from its own metrics. */
async function serverCpu(api: BenchApi['api'], agent: Agent): Promise<number | undefined> {
  const answer = await nodeFetch(`${api.url}/metrics`, {
    agent,
    headers: { authorization: `Bearer ${api.adminToken}` },
  });
  const seconds = /^process_cpu_seconds_total (\S+)$/m.exec(await answer.text())?.[1];
  return seconds === undefined ? undefined : Number(seconds) * 1000;
}

function statusPatch(name: string, i: number): object {
  const address = `10.${i >> 16}.${(i >> 8) & 255}.${i & 255}`;
  return {
    status: {
      addresses: [{ $patch: 'replace' }, { type: 'InternalIP', address }, { type: 'Hostname', address: name }],
      conditions: [
        {
          type: 'CloudInitialized',
          status: 'True',
          reason: 'Initialized',
          message: 'all that the cloud knows is written',
          lastTransitionTime: '2026-01-01T00:00:00Z',
          lastHeartbeatTime: '2026-01-01T00:00:00Z',
        },
      ],
    },
  };
}

function mainPatch(resourceVersion: string, i: number): object {
  return {
    metadata: {
      resourceVersion,
      labels: {
        'node.kubernetes.io/instance-type': 'm1.large',
        'topology.kubernetes.io/zone': 'zone-1',
        'topology.kubernetes.io/region': 'region-1',
      },
      annotations: { 'mooring.dev/instance': `simulated/region-1/i-${i}` },
    },
    spec: { providerID: `simulated:///zone-1/i-${i}`, taints: [notReady] },
  };
}

function overNodeFetch(api: BenchApi['api'], agent: Agent, acceptType: string): Send {
  return async (method, path, body, type) => {
    const answer = await nodeFetch(`${api.url}${path}`, {
      method,
      agent,
      body: JSON.stringify(body),
      headers: { authorization: `Bearer ${api.adminToken}`, accept: acceptType, 'content-type': type },
    });
    const text = await answer.text();
    return { status: answer.status, object: JSON.parse(text), bytes: text.length };
  };
}

function overHttps(api: BenchApi['api'], agent: Agent, acceptType: string): Send {
  const { hostname, port } = new URL(api.url);
  const headers = { authorization: `Bearer ${api.adminToken}`, accept: acceptType };
  return (method, path, body, type) =>
    new Promise((resolve, reject) => {
      const bytes = body === undefined ? '' : JSON.stringify(body);
      const call = request(
        {
          hostname,
          port,
          path,
          method,
          agent,
          headers: { ...headers, 'content-type': type, 'content-length': Buffer.byteLength(bytes) },
        },
        (response) => {
          const chunks: Buffer[] = [];
          response.on('data', (chunk: Buffer) => chunks.push(chunk));
          response.once('error', reject);
          response.once('end', () => {
            const text = Buffer.concat(chunks).toString('utf8');
            resolve({ status: response.statusCode ?? 0, object: JSON.parse(text), bytes: text.length });
          });
        },
      );
      call.once('error', reject);
      call.end(bytes);
    });
}

async function eachOf<T>(items: T[], width: number, work: (item: T, index: number) => Promise<unknown>): Promise<void> {
  let next = 0;
  const worker = async () => {
    for (let i = next++; i < items.length; i = next++) await work(items[i] as T, i);
  };
  await Promise.all(Array.from({ length: width }, worker));
}
