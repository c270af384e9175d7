import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { names } from '../../common/well-known.ts';
import { parseLoops } from '../../controller/app/options/loops.ts';
import { permissionsFor, permissionsIn } from '../../controller/app/permissions.ts';
import { assertRefused, attempts } from '../attacks/stolen-account.ts';
import type { ApiSuite, ApiUnderTest } from '../conformance/api-under-test.ts';
import { type Client, makeClient } from '../conformance/client.ts';
import { applications, appliedAgain, appliedOverOwn, type Kubectl, keepsNodes } from './applying.ts';
import { base, exampleNames, examples } from './manifests.ts';
import { configMaps, worksAndRecovers } from './own-objects.ts';

/** The attributes of a SelfSubjectAccessReview. */
interface Right {
  readonly verb: string;
  readonly group: string;
  readonly resource: string;
  readonly namespace?: string | undefined;
  readonly name?: string | undefined;
}

/** Rights that would be handy and are not given. */
const withheld: readonly Right[] = [
  { verb: 'create', group: '', resource: 'nodes' },
  { verb: 'update', group: '', resource: 'nodes' },
  { verb: 'list', group: '', resource: 'pods' },
  { verb: 'update', group: '', resource: 'services' },
  { verb: 'delete', group: '', resource: 'services' },
  { verb: 'get', group: '', resource: 'namespaces', name: 'default' },
  { verb: 'list', group: '', resource: 'secrets', namespace: names.namespace },
  { verb: 'get', group: '', resource: 'secrets', namespace: names.namespace, name: 'other' },
  { verb: 'update', group: '', resource: 'configmaps', namespace: names.namespace, name: 'other' },
  { verb: 'create', group: '', resource: 'serviceaccounts/token', namespace: names.namespace },
  { verb: 'update', group: 'coordination.k8s.io', resource: 'leases', namespace: names.namespace, name: 'other' },
  { verb: 'update', group: 'coordination.k8s.io', resource: 'leases', namespace: names.nodeLeaseNamespace },
];

/**
 * Applies `deploy/` with kubectl, for real and as a dry run, and asks the server for the rights of its accounts. Skips
 * without kubectl.
 */
export function deploySuite(kubectl: string | undefined): ApiSuite {
  return {
    name: 'deploy',
    async run(api, check) {
      const skip = kubectl === undefined ? 'there is no kubectl' : undefined;
      const folder = await mkdtemp(join(tmpdir(), 'mooring-deploy-'));
      const client = makeClient(api.url, api.caPem, api.adminToken);
      try {
        const run = await openKubectl(kubectl ?? '', api, folder);
        for (const name of await exampleNames())
          await check(`the server accepts the example ${name}`, () => accepted(run, '-k', join(examples, name)), {
            skip,
          });
        await check('the server accepts deploy/mooring.yaml', () => accepted(run, '-f', `${base}/../mooring.yaml`), {
          skip,
        });
        await check('the server accepts deploy/base, and a dry run leaves nothing', () => leavesNothing(run, client), {
          skip,
        });
        for (const [how, flags] of applications) {
          await check(
            `${how} keeps what was written into the shipped objects, the pause key and the Lease`,
            () => appliedAgain(run, client, flags),
            {
              skip: skip ?? (serverSide(flags) && api.kind === 'embedded' ? 'it has no server-side apply' : undefined),
            },
          );
        }
        await check(
          'the first apply keeps the Secret and the records of a version that created them itself',
          () => appliedOverOwn(run, client),
          { skip },
        );
        await check(
          'deploy/components/keep-nodes leaves out the loop and the right to delete Nodes',
          () => keepsNodes(run, folder),
          {
            skip,
          },
        );
        await check('the controller may do all it must, and not more', () => controllerRights(client), { skip });
        await check('the agent may do nothing', () => agentRights(client), { skip });
        const stolen = skip === undefined ? await tokenOf(client, names.controller).catch(() => undefined) : undefined;
        const noToken = skip ?? (stolen === undefined ? 'there is no token of the controller' : undefined);
        for (const attempt of attempts)
          await check(
            `the controller's account cannot ${attempt.what}`,
            () => assertRefused(client, stolen!, attempt),
            {
              skip: noToken,
            },
          );
        await check(
          'election, announcements and records work with these rights, also after their objects were deleted',
          () => worksAndRecovers(api, client, stolen!),
          { skip: noToken },
        );
        const program = await controllerAs(api, client, folder).catch(() => undefined);
        const noAccount = skip ?? (program === undefined ? 'there is no token of the controller' : undefined);
        await check('check, run as the controller, finds every right', () => checksItself(program!), {
          skip: noAccount,
        });
        await check('explain works with the rights of the controller', () => explains(program!, client), {
          skip: noAccount,
        });
        if (kubectl !== undefined) await run(['delete', '-k', base, '--ignore-not-found', '--wait=false']);
      } finally {
        client.close();
        await rm(folder, { recursive: true, force: true });
      }
    },
  };
}

async function openKubectl(kubectl: string, api: ApiUnderTest, folder: string): Promise<Kubectl> {
  const config = join(folder, 'config');
  await api.writeKubeconfig(config);
  const common = [`--kubeconfig=${config}`, `--cache-dir=${join(folder, 'cache')}`];
  const env = { PATH: process.env['PATH'], HOME: folder };
  return (args) =>
    new Promise((resolve, reject) => {
      execFile(kubectl, [...common, ...args], { env, timeout: 60_000 }, (error, stdout, stderr) => {
        if (error === null) resolve(stdout);
        else reject(new Error(`kubectl ${args.join(' ')}: ${stderr || error.message}`));
      });
    });
}

const serverSide = (flags: readonly string[]) => flags.includes('--server-side');

async function accepted(run: Kubectl, how: '-k' | '-f', path: string): Promise<void> {
  const lines = (await run(['apply', how, path, '--dry-run=server'])).trim().split('\n');
  for (const line of lines) assert.match(line, /(created|configured|unchanged) \(server dry run\)$/);
  for (const kind of [
    'deployment',
    'daemonset',
    'service',
    'poddisruptionbudget',
    'clusterrole',
    'configmap',
    'secret',
  ])
    assert.ok(
      lines.some((line) => line.startsWith(`${kind}.`) || line.startsWith(`${kind}/`)),
      `no ${kind} among ${lines.join(', ')}`,
    );
}

async function leavesNothing(run: Kubectl, client: Client): Promise<void> {
  await accepted(run, '-k', base);
  assert.equal((await client.call('GET', `${configMaps}/${names.certificates}`)).status, 404);
}

async function controllerRights(client: Client): Promise<void> {
  const token = await tokenOf(client, names.controller);
  for (const { verbs, ...of } of permissionsIn(names.namespace)) {
    // A component gives it.
    if (of.loops?.join() === 'volume') continue;
    for (const verb of verbs) assert.ok(await mayI(client, token, { verb, ...of }), `may not ${verb} ${of.resource}`);
  }
  for (const right of withheld) assert.ok(!(await mayI(client, token, right)), `may ${right.verb} ${right.resource}`);
}

async function agentRights(client: Client): Promise<void> {
  const token = await tokenOf(client, names.agent);
  for (const { verbs, ...of } of permissionsIn(names.namespace))
    for (const verb of verbs) assert.ok(!(await mayI(client, token, { verb, ...of })), `may ${verb} ${of.resource}`);
}

interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs mooring-controller under its own account. Never throws for an exit code. */
type Controller = (args: readonly string[]) => Promise<Ended>;

async function controllerAs(api: ApiUnderTest, client: Client, folder: string): Promise<Controller> {
  const config = join(folder, 'controller');
  await api.writeKubeconfig(config, await tokenOf(client, names.controller));
  const main = join(base, '../../controller/main.ts');
  return (args) =>
    new Promise((resolve) => {
      const env = { PATH: process.env['PATH'], HOME: folder };
      const argv = [main, ...args, `--kubeconfig=${config}`];
      execFile(process.execPath, argv, { env, timeout: 60_000 }, (error, stdout, stderr) =>
        resolve({ code: error === null ? 0 : Number(error.code ?? -1), stdout, stderr }),
      );
    });
}

async function checksItself(run: Controller): Promise<void> {
  // A cloud without controller support, so that the rights alone are at stake.
  const { code, stdout, stderr } = await run(['check', '--cloud-provider=oci', '-o=json']);
  assert.equal(code, 0, `${stdout}${stderr}`);
  const lines = JSON.parse(stdout) as { readonly of: string; readonly ok: boolean }[];
  const loops = parseLoops(['*']);
  assert.ok('node' in loops);
  // No --cluster-cidr: no routes.
  const asked = permissionsFor({ ...loops, route: false }, names.namespace);
  // The server, the rights, and the Secret and the ConfigMap of the report API.
  assert.equal(lines.filter(({ of }) => of === 'kubernetes').length, 1 + asked.length + 2);
}

async function explains(run: Controller, client: Client): Promise<void> {
  const name = 'deploy-suite-node';
  const taint = { key: 'node.cloudprovider.kubernetes.io/uninitialized', value: 'true', effect: 'NoSchedule' };
  const body = { apiVersion: 'v1', kind: 'Node', metadata: { name }, spec: { taints: [taint] } };
  await client.call('POST', '/api/v1/nodes', { body });
  try {
    const { code, stdout, stderr } = await run(['explain', 'node', name, '-o=json']);
    assert.equal(code, 0, stderr);
    const { state, why } = JSON.parse(stdout) as { readonly state: string; readonly why: string };
    assert.equal(state, 'waiting');
    assert.match(why, /no controller holds the Lease|leads and has not written/);
  } finally {
    await client.call('DELETE', `/api/v1/nodes/${name}`);
  }
}

async function tokenOf(client: Client, account: string): Promise<string> {
  const path = `/api/v1/namespaces/${names.namespace}/serviceaccounts/${account}/token`;
  const { status, text, object } = await client.call('POST', path, {
    body: { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: {} },
  });
  assert.equal(status, 201, text);
  return String(object.status?.['token']);
}

async function mayI(client: Client, token: string, { resource, ...rest }: Right): Promise<boolean> {
  const [name, subresource] = resource.split('/');
  const { status, text, object } = await client.call('POST', '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews', {
    token,
    body: {
      apiVersion: 'authorization.k8s.io/v1',
      kind: 'SelfSubjectAccessReview',
      spec: { resourceAttributes: { ...rest, resource: name, ...(subresource === undefined ? {} : { subresource }) } },
    },
  });
  assert.equal(status, 201, text);
  return object.status?.['allowed'] === true;
}
