import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { stringify } from 'yaml';
import type { ApiUnderTest } from '../conformance/api-under-test.ts';
import { freePorts } from '../kit/free-ports.ts';
import type { Binaries } from './binaries.ts';
import { makeCertificates } from './certificates.ts';
import { type Child, guard, startChild } from './child.ts';

export interface RealApiOptions {
  binaries: Binaries;
  /** Where keys, data and logs go, in a folder of their own that `stop` removes; default the system's temp folder. */
  dir?: string;
  /** The kubelets that may ask for a `nodeToken`; default `node-0` ... `node-99`. */
  nodeNames?: string[];
  /** Further arguments of kube-apiserver; a later one overrides an earlier one. */
  apiserverArguments?: string[];
}

export interface RealApi extends ApiUnderTest {
  readonly kind: 'real';
  restart(): Promise<void>;
  expireHistory(): Promise<void>;
  /** Of etcd and kube-apiserver, as they run now. */
  pids(): readonly number[];
  /** The folder with the logs `etcd.log` and `kube-apiserver.log`. */
  readonly folder: string;
}

/**
 * Starts etcd (no fsync) and kube-apiserver on loopback, with RBAC and Node authorization and NodeRestriction, and
 * no other control plane program: no namespace is finalised, no garbage collected, no not-ready taint removed. Ready
 * when it returns; throws with the end of the log when a server dies or is not ready within a minute. Everything is
 * killed and removed by `stop` and, at the latest, when this process ends.
 */
export async function startRealApi(options: RealApiOptions): Promise<RealApi> {
  const base = options.dir ?? tmpdir();
  await mkdir(base, { recursive: true });
  const folder = await mkdtemp(join(base, 'mooring-real-'));
  const ports = await freePorts('api', 'etcd', 'etcdPeer');
  const etcdUrl = `http://127.0.0.1:${ports.etcd}`;
  const url = `https://127.0.0.1:${ports.api}`;
  const certificates = await makeCertificates();
  const nodeNames = options.nodeNames ?? Array.from({ length: 100 }, (_, i) => `node-${i}`);
  const adminToken = newToken();
  const nodeTokens = new Map(nodeNames.map((name) => [name, newToken()]));
  const file = (name: string) => join(folder, name);
  await chmod(folder, 0o700);
  for (const [name, content] of [
    ['ca.crt', certificates.caPem],
    ['server.crt', certificates.serverCertPem],
    ['server.key', certificates.serverKeyPem],
    ['service-account.key', certificates.serviceAccountKeyPem],
    ['tokens.csv', tokenFile(adminToken, nodeTokens)],
  ] as const) {
    await writeFile(file(name), content, { mode: 0o600 });
  }

  const etcd = startChild(options.binaries.etcd, etcdArguments(folder, etcdUrl, ports.etcdPeer), file('etcd.log'));
  const args = [...apiserverArguments(file, ports.api, etcdUrl), ...(options.apiserverArguments ?? [])];
  const startApiserver = () => startChild(options.binaries.kubeApiserver, args, file('kube-apiserver.log'));
  let apiserver = startApiserver();
  let watchman = guard([etcd.pid, apiserver.pid], folder);
  let stopped = false;

  const stop = async () => {
    if (stopped) return;
    stopped = true;
    await Promise.all([apiserver.kill(), etcd.kill()]);
    watchman.release();
    await rm(folder, { recursive: true, force: true });
  };
  const restart = async () => {
    await apiserver.kill();
    const before = watchman;
    apiserver = startApiserver();
    watchman = guard([etcd.pid, apiserver.pid], folder);
    before.release();
    await becomeReady(url, certificates.caPem, adminToken, [etcd, apiserver]);
  };
  const kubeconfig = (token = adminToken) => kubeconfigDocument(url, certificates.caPem, token);
  try {
    await becomeReady(url, certificates.caPem, adminToken, [etcd, apiserver]);
  } catch (error) {
    await stop();
    throw error;
  }
  return {
    kind: 'real',
    url,
    caPem: certificates.caPem,
    adminToken,
    folder,
    pids: () => [etcd.pid, apiserver.pid],
    nodeToken(name) {
      const token = nodeTokens.get(name);
      if (!token)
        throw new Error(`no token for node ${name}: name it in nodeNames when the real API server is started`);
      return token;
    },
    kubeconfig,
    writeKubeconfig: (path, token) => writeFile(path, kubeconfig(token), { mode: 0o600 }),
    stop,
    restart,
    async expireHistory() {
      await compact(etcdUrl);
      // The watch cache would still answer from its own history.
      await restart();
    },
  };
}

function newToken(): string {
  return randomBytes(24).toString('base64url');
}

function tokenFile(adminToken: string, nodeTokens: Map<string, string>): string {
  const lines = [`${adminToken},admin,admin,"system:masters"`];
  for (const [name, token] of nodeTokens) lines.push(`${token},system:node:${name},system:node:${name},"system:nodes"`);
  return `${lines.join('\n')}\n`;
}

function etcdArguments(folder: string, url: string, peerPort: number): string[] {
  const peerUrl = `http://127.0.0.1:${peerPort}`;
  return [
    `--data-dir=${join(folder, 'etcd')}`,
    '--unsafe-no-fsync',
    `--listen-client-urls=${url}`,
    `--advertise-client-urls=${url}`,
    `--listen-peer-urls=${peerUrl}`,
    `--initial-advertise-peer-urls=${peerUrl}`,
    `--initial-cluster=default=${peerUrl}`,
    '--log-level=error',
  ];
}

function apiserverArguments(file: (name: string) => string, port: number, etcdUrl: string): string[] {
  return [
    `--etcd-servers=${etcdUrl}`,
    '--bind-address=127.0.0.1',
    '--advertise-address=127.0.0.1',
    `--secure-port=${port}`,
    `--tls-cert-file=${file('server.crt')}`,
    `--tls-private-key-file=${file('server.key')}`,
    `--client-ca-file=${file('ca.crt')}`,
    `--token-auth-file=${file('tokens.csv')}`,
    '--authorization-mode=Node,RBAC',
    '--enable-admission-plugins=NodeRestriction',
    '--service-cluster-ip-range=10.96.0.0/12',
    '--service-account-issuer=https://kubernetes.default.svc',
    `--service-account-key-file=${file('service-account.key')}`,
    `--service-account-signing-key-file=${file('service-account.key')}`,
    '--allow-privileged=true',
    // Loopback is no address for an endpoint, and nothing here reaches the API by its Service.
    '--endpoint-reconciler-type=none',
    '--v=0',
  ];
}

function kubeconfigDocument(server: string, caPem: string, token: string): string {
  return stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [
      { name: 'test', cluster: { server, 'certificate-authority-data': Buffer.from(caPem).toString('base64') } },
    ],
    users: [{ name: 'test', user: { token } }],
    contexts: [{ name: 'test', context: { cluster: 'test', user: 'test' } }],
    'current-context': 'test',
  });
}

/** Waits for /readyz and for the namespaces that the server makes for itself a moment later. */
async function becomeReady(url: string, ca: string, token: string, children: Child[]): Promise<void> {
  const deadline = Date.now() + 60_000;
  const paths = ['/readyz', '/api/v1/namespaces/default', '/api/v1/namespaces/kube-system'];
  let last = 'no answer yet';
  while (Date.now() < deadline) {
    for (const child of children) {
      const ended = child.ended();
      if (ended) throw new Error(`the server ended early (${ended}):\n${child.logTail()}`);
    }
    last = await firstRefusal(url, paths, ca, token).catch((error) => String(error));
    if (last === '') return;
    await wait(100);
  }
  throw new Error(`${last} still after a minute:\n${children.map((child) => child.logTail()).join('\n')}`);
}

/** The first of `paths` that does not answer 200, with its status; empty when all do. */
async function firstRefusal(url: string, paths: string[], ca: string, token: string): Promise<string> {
  for (const path of paths) {
    const headers = { authorization: `Bearer ${token}` };
    const call = request(`${url}${path}`, { ca, headers, agent: false, timeout: 2_000 });
    call.once('timeout', () => call.destroy(new Error('timeout')));
    call.end();
    const [response] = await once(call, 'response');
    response.resume();
    if (response.statusCode !== 200) return `${path}: ${response.statusCode}`;
  }
  return '';
}

/** Compacts etcd at its present revision, through its JSON gateway. */
async function compact(etcdUrl: string): Promise<void> {
  const post = async (path: string, body: object) => {
    const answer = await fetch(`${etcdUrl}${path}`, { method: 'POST', body: JSON.stringify(body) });
    if (!answer.ok) throw new Error(`etcd ${path}: ${answer.status} ${await answer.text()}`);
    return (await answer.json()) as { header?: { revision?: string } };
  };
  const { header } = await post('/v3/kv/range', { key: Buffer.from('\0').toString('base64') });
  await post('/v3/kv/compaction', { revision: header?.revision, physical: true });
}
