import { once } from 'node:events';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer as createHttpServer } from 'node:http';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { testCa } from '../../common/testing/certificates.ts';
import { freePort } from '../kit/free-ports.ts';
import { type KubeApiServer, startKubeApi } from '../kit/kube-api/start-kube-api.ts';
import { createKubeRest } from '../kit/world/kube-rest.ts';

/** What the command lines name in braces: files, addresses and ports. */
export interface WrongWorld {
  readonly places: ReadonlyMap<string, string>;
  stop(): Promise<void>;
}

const noRights = 'a-token-without-rights';
const oneNode = 'a-token-for-one-node';
const person = (name: string) => ({ name, uid: '', groups: ['system:authenticated'], extra: {} });

/** An API server, peers that answer wrongly or not at all, and files with mistakes. */
export async function startWrongWorld(): Promise<WrongWorld> {
  const folder = await mkdtemp(join(tmpdir(), 'mooring-wrong-'));
  const [api, other] = await Promise.all([
    startKubeApi({
      tokens: new Map([
        [noRights, person('nobody')],
        [oneNode, person('somebody')],
      ]),
    }),
    startKubeApi(),
  ]);
  await allowOneNode(api);
  const silent = createServer(() => {});
  const taken = createServer();
  const answering = (status: number, type: string, body: string) =>
    createHttpServer((_request, response) => response.writeHead(status, { 'Content-Type': type }).end(body));
  const servers: Record<string, Server> = {
    silent,
    taken,
    refusing: answering(
      401,
      'application/json',
      '{"error":{"code":"unauthorized","message":"unable to authenticate"}}',
    ),
    failing: answering(503, 'text/plain', 'try later'),
    page: answering(200, 'text/html', '<!doctype html><title>Welcome</title>'),
  };
  const ports: Record<string, number> = { closed: await freePort() };
  for (const [name, server] of Object.entries(servers)) {
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    ports[name] = (server.address() as AddressInfo).port;
  }

  const good = api.kubeconfig();
  const unknown = api.kubeconfig('unknown');
  const ca = await testCa();
  const expired = await ca.issue({ usage: 'clientAuth', notAfter: new Date('2021-01-01T00:00:00Z') });
  const inBase64 = (pem: string) => Buffer.from(pem).toString('base64');
  const withExpired = [
    '$&',
    `$1client-certificate-data: ${inBase64(expired.certPem)}`,
    `$1client-key-data: ${inBase64(expired.keyPem)}`,
  ].join('\n');
  const server = new URL(api.url).host;
  const files: Record<string, string> = {
    'good.yaml': good,
    'no-rights.yaml': api.kubeconfig(noRights),
    'unknown-token.yaml': unknown,
    'one-node.yaml': api.kubeconfig(oneNode),
    'expired-certificate.yaml': unknown.replace(/^( *)token: .*/m, withExpired),
    'broken.yaml': `users: [\n${good}`,
    'empty-token': '\n',
    'broken-cloud.yaml': 'project: [p\nregion: {r\n',
    'other-ca.yaml': good.replace(/certificate-authority-data: .*/, other.kubeconfig().match(/certificate-auth.*/)![0]),
    'closed.yaml': good.replace(server, `127.0.0.1:${ports['closed']}`),
    'silent.yaml': good.replace(server, `127.0.0.1:${ports['silent']}`),
    'unknown-host.yaml': good.replace(server, 'no-such-host.invalid:6443'),
    'plain-http.yaml': good.replace(`https://${server}`, `http://127.0.0.1:${ports['page']}`),
    'wrong-context.yaml': good.replace(/current-context: .*/, 'current-context: staging'),
    'half.yaml': good.slice(0, good.indexOf('users:') + 20),
    'no-server.yaml': good.replace(/server: .*/, 'server: api.example.com'),
    'exec.yaml': good.replace(
      /token: .*/,
      'exec: {apiVersion: client.authentication.k8s.io/v1, command: no-such-login}',
    ),
    'empty.yaml': '',
    'cloud.yaml': `{endpoint: "http://127.0.0.1:${ports['closed']}", project: p, region: r, credential: secret-word}`,
    'silent-cloud.yaml': `{endpoint: "http://127.0.0.1:${ports['silent']}", project: p, region: r, credential: x}`,
    'list.yaml': '- a\n- b\n',
    'broken.conf': '[Global\nauth-url = x\n',
    'unknown-key.conf': '[Global]\nauth-url = http://127.0.0.1:1/v3\nusernam = me\n',
    'half-credential.conf': '[Global]\nauth-url = http://127.0.0.1:1/v3\nusername = me\npassword = secret-word\n',
    'azure.json': '{"cloud": "AzurePublicCloud", ',
    'throws.cjs': "throw new Error('it has no licence');\n",
    'other.cjs': 'exports.version = 1;\n',
  };
  for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text);
  await mkdir(join(folder, 'empty'));

  const places = new Map<string, string>([
    ['folder', folder],
    ...Object.entries(ports).map(([name, port]): [string, string] => [name, `127.0.0.1:${port}`]),
    ...Object.entries(ports).map(([name, port]): [string, string] => [`${name} port`, String(port)]),
  ]);
  return {
    places,
    async stop() {
      for (const each of Object.values(servers)) each.close();
      await Promise.all([api.stop(), other.stop(), rm(folder, { recursive: true, force: true })]);
    },
  };
}

/** Two Nodes, and a person who may get one of them. */
async function allowOneNode(api: KubeApiServer): Promise<void> {
  const rest = createKubeRest(api);
  const rights = '/apis/rbac.authorization.k8s.io/v1';
  for (const name of ['a', 'b']) await rest.must('POST', '/api/v1/nodes', { metadata: { name } });
  const metadata = { name: 'one-node' };
  const rules = [{ apiGroups: [''], resources: ['nodes'], resourceNames: ['a'], verbs: ['get'] }];
  await rest.must('POST', `${rights}/clusterroles`, { metadata, rules });
  await rest.must('POST', `${rights}/clusterrolebindings`, {
    metadata,
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'one-node' },
    subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'somebody' }],
  });
  rest.close();
}
