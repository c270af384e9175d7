import assert from 'node:assert/strict';
import { mkdir, writeFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { parseAllDocuments } from 'yaml';
import { names } from '../../common/well-known.ts';
import type { Client } from '../conformance/client.ts';
import { base, type Manifest, readManifests, rightsOf } from './manifests.ts';
import { lease, must, ownConfigMap, ownRecords, ownSecret } from './own-objects.ts';

/** Runs kubectl and answers its stdout; throws unless it ends with 0. */
export type Kubectl = (args: readonly string[]) => Promise<string>;

/** Ways of applying a newer version of the manifests. */
export const applications = [
  ['a second apply', []],
  ['a server-side apply', ['--server-side', '--force-conflicts']],
] as const;

/** What the controllers and a person have written. */
async function fill(client: Client): Promise<void> {
  const write = (path: string, data: object) => must(client, 'PATCH', path, { data }, 'application/merge-patch+json');
  await write(ownSecret, { 'tls.key': Buffer.from('a key').toString('base64') });
  await write(ownConfigMap, {
    [names.caKey]: 'a certificate',
    [names.controllerUrlsKey]: 'a URL',
    [names.pausedKey]: 'true',
  });
  await write(ownRecords, { scope: 'a route' });
  const spec = { holderIdentity: 'a replica', leaseDurationSeconds: 15 };
  await must(client, 'PUT', lease, { metadata: { name: names.lease }, spec }).catch(async () => {
    const { metadata } = (await client.call('GET', lease)).object;
    await must(client, 'PUT', lease, { metadata, spec });
  });
}

async function contents(client: Client): Promise<unknown[]> {
  const [secret, published, records, held] = await Promise.all(
    [ownSecret, ownConfigMap, ownRecords, lease].map(async (path) => (await client.call('GET', path)).object),
  );
  return [secret?.['data'], published?.['data'], records?.['data'], held?.spec];
}

export async function appliedAgain(run: Kubectl, client: Client, flags: readonly string[]): Promise<void> {
  await run(['apply', '-k', base]);
  await fill(client);
  const before = await contents(client);
  await run(['apply', ...flags, '-k', base]);
  assert.deepEqual(await contents(client), before);
  assert.match(JSON.stringify(before), /a replica/);
}

/** The Secret and the records lack the annotation by which kubectl knows what it applied last. */
export async function appliedOverOwn(run: Kubectl, client: Client): Promise<void> {
  const objects = [
    [ownSecret, 'Secret', names.certificates],
    [ownRecords, 'ConfigMap', names.routeRecords],
  ] as const;
  for (const [path, kind, name] of objects) {
    await client.call('DELETE', path);
    await must(client, 'POST', path.slice(0, path.lastIndexOf('/')), { apiVersion: 'v1', kind, metadata: { name } });
  }
  await fill(client);
  const before = await contents(client);
  await run(['apply', '-k', base]);
  assert.deepEqual(await contents(client), before);
  const data = { [names.pausedKey]: null };
  await must(client, 'PATCH', ownConfigMap, { data }, 'application/merge-patch+json');
}

/** What an overlay with the component lacks. */
export async function keepsNodes(run: Kubectl, folder: string): Promise<void> {
  const overlay = join(folder, 'overlay');
  await mkdir(overlay);
  const at = (path: string) => relative(overlay, path);
  const lines = [
    'apiVersion: kustomize.config.k8s.io/v1beta1',
    'kind: Kustomization',
    `resources: [${at(base)}]`,
    `components: [${at(join(base, '../components/keep-nodes'))}]`,
  ];
  await writeFile(join(overlay, 'kustomization.yaml'), lines.join('\n'));
  const rendered = parseAllDocuments(await run(['kustomize', overlay])).map((each) => each.toJS() as Manifest);
  const rights = [...rightsOf(names.controller, rendered)];
  assert.deepEqual(
    [...rightsOf(names.controller, await readManifests())].filter((each) => !rights.includes(each)),
    ['delete nodes'],
  );
  assert.ok(JSON.stringify(rendered).includes('--controllers=*,-cloud-node-lifecycle'));
}
