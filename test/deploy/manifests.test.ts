import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { runFlags as agentFlags } from '../../agent/options.ts';
import { type FlagDefinitions, parseFlags } from '../../common/process/flags.ts';
import { version } from '../../common/version.ts';
import { names } from '../../common/well-known.ts';
import { permissionsIn } from '../../controller/app/permissions.ts';
import { runCommandFlags as controllerFlags } from '../../controller/commands/run-command.ts';
import { shippedObjectsIn } from '../../controller/kube/shipped-objects.ts';
import { images, memoryEnvironment } from '../../scripts/image/build-images.ts';
import { singleFile } from '../../scripts/render-base.ts';
import { exampleNames, examples, type Manifest, readManifests, readYaml, right, rightsOf } from './manifests.ts';

interface Container {
  readonly image: string;
  readonly command: readonly string[];
  readonly args: readonly string[];
  readonly resources: { readonly limits: { readonly memory: string } };
  readonly securityContext: unknown;
}

interface PodSpec {
  readonly serviceAccountName: string;
  readonly automountServiceAccountToken: boolean;
  readonly hostNetwork: boolean;
  readonly securityContext: { readonly runAsNonRoot?: boolean; readonly seccompProfile: { readonly type: string } };
  readonly tolerations: readonly { readonly key?: string; readonly operator: string }[];
  readonly containers: readonly Container[];
  readonly volumes?: readonly {
    readonly configMap?: { readonly name: string; readonly items?: unknown };
    readonly projected?: {
      readonly sources: readonly { readonly serviceAccountToken: { readonly audience: string } }[];
    };
  }[];
}

const manifests = await readManifests();

function object(kind: string, name: string): Manifest {
  const found = manifests.find((each) => each.kind === kind && each.metadata.name === name);
  assert.ok(found, `deploy/base has no ${kind} ${name}`);
  return found;
}

function podSpec(kind: string, name: string): PodSpec {
  const { template } = object(kind, name)['spec'] as { readonly template: { readonly spec: PodSpec } };
  return template.spec;
}

const controller = podSpec('Deployment', names.controller);
const agent = podSpec('DaemonSet', names.agent);

/** Arguments after the command's name, as the program gets them. */
function assertArguments(flags: FlagDefinitions, args: readonly string[]): void {
  assert.equal(args[0], 'run');
  const parsed = parseFlags(flags, args.slice(1));
  assert.ok(parsed.ok, parsed.ok ? '' : parsed.message);
  assert.deepEqual(parsed.warnings, []);
  assert.deepEqual(parsed.operands, []);
}

describe('the manifests', () => {
  test('gives the controller exactly the rights that it uses', () => {
    const standard = permissionsIn(names.namespace).filter(({ loops }) => loops?.join() !== 'volume');
    const used = standard.flatMap(({ verbs, group, resource, name, namespace }) =>
      verbs.map((verb) => right(verb, group, resource, name, namespace)),
    );
    assert.deepEqual([...rightsOf(names.controller, manifests)].sort(), [...new Set(used)].sort());
  });

  test('gives the rights of the loop for volumes with its component alone', async () => {
    const component = await readYaml(join(examples, '../components/volume-labels/rbac.yaml'));
    const used = permissionsIn(names.namespace)
      .filter(({ loops }) => loops?.join() === 'volume')
      .flatMap(({ verbs, group, resource }) => verbs.map((verb) => right(verb, group, resource, undefined, undefined)));
    assert.deepEqual([...rightsOf(names.controller, component as Manifest[])].sort(), used.sort());
  });

  test('gives the agent no right and no token but the one for our audience', () => {
    assert.deepEqual([...rightsOf(names.agent, manifests)], []);
    assert.equal(agent.serviceAccountName, names.agent);
    assert.equal(agent.automountServiceAccountToken, false);
    const tokens = (agent.volumes ?? []).flatMap(({ projected }) => projected?.sources ?? []);
    assert.deepEqual(
      tokens.map(({ serviceAccountToken }) => serviceAccountToken.audience),
      [names.audience],
    );
  });

  test('lets the controller create only events, reviews and the Leases of its own names', () => {
    const created = [...rightsOf(names.controller, manifests)].filter((each) => /^(create|\*) /.test(each));
    assert.deepEqual(created.sort(), [
      'create events',
      `create leases.coordination.k8s.io named ${names.lease} in kube-system`,
      `create leases.coordination.k8s.io named ${names.replicasLease} in kube-system`,
      'create subjectaccessreviews.authorization.k8s.io',
      'create tokenreviews.authentication.k8s.io',
    ]);
  });

  test('gives rights in kube-system on named objects alone', () => {
    for (const each of rightsOf(names.controller, manifests))
      if (each.endsWith(' in kube-system')) assert.match(each, / named /);
  });

  test('ships every object that the controller may not create, without a key', () => {
    for (const { kind, name } of Object.values(shippedObjectsIn(names.namespace))) {
      const shipped = object(kind, name);
      assert.deepEqual(
        [shipped['data'], shipped['stringData'], shipped['immutable']],
        [undefined, undefined, undefined],
      );
    }
  });

  test('mounts the ConfigMap of the agents whole', () => {
    const mounted = (agent.volumes ?? []).filter(({ configMap }) => configMap?.name === names.certificates);
    assert.equal(mounted.length, 1);
    assert.equal(mounted[0]?.configMap?.items, undefined);
  });

  test('runs both programs on nodes that wait for initialisation, in the network of the host', () => {
    for (const { hostNetwork, tolerations } of [controller, agent]) {
      assert.equal(hostNetwork, true);
      const tolerated = tolerations.some(
        ({ key, operator }) =>
          operator === 'Exists' && (key === undefined || key === 'node.cloudprovider.kubernetes.io/uninitialized'),
      );
      assert.ok(tolerated);
    }
  });

  test('drops every capability, mounts root file systems read-only, and sets the default seccomp profile', () => {
    for (const { securityContext, containers } of [controller, agent]) {
      assert.deepEqual(securityContext.seccompProfile, { type: 'RuntimeDefault' });
      for (const container of containers)
        assert.deepEqual(container.securityContext, {
          allowPrivilegeEscalation: false,
          readOnlyRootFilesystem: true,
          capabilities: { drop: ['ALL'] },
        });
    }
    assert.equal(controller.securityContext.runAsNonRoot, true);
  });

  test('mounts no Secret, and the token of an account into the pod that uses it alone', () => {
    const volumes = [controller, agent].flatMap((spec) => spec.volumes ?? []);
    assert.ok(volumes.every((volume) => !('secret' in volume || 'hostPath' in volume)));
    for (const name of [names.controller, names.agent])
      assert.equal(object('ServiceAccount', name)['automountServiceAccountToken'], false);
    assert.deepEqual([controller.automountServiceAccountToken, agent.automountServiceAccountToken], [true, false]);
  });

  test('lets agents reach the report API by a Service of its own', () => {
    const { ports } = object('Service', 'mooring-reports')['spec'] as {
      readonly ports: readonly { readonly port: number }[];
    };
    assert.deepEqual(
      ports.map(({ port }) => port),
      [names.reportPort],
    );
    assert.ok(
      agent.containers[0]?.args.includes(
        `--controller-url=https://mooring-reports.kube-system.svc:${names.reportPort}`,
      ),
    );
  });

  test('passes arguments that the programs know', () => {
    assertArguments(agentFlags, agent.containers[0]?.args ?? []);
    assertArguments(controllerFlags, controller.containers[0]?.args ?? []);
  });

  test('add, in every example, arguments that the programs know', async () => {
    for (const name of await exampleNames()) {
      const [kustomization] = (await readYaml(join(examples, name, 'kustomization.yaml'))) as {
        readonly patches: readonly { readonly target: { readonly kind: string }; readonly patch: string }[];
      }[];
      for (const { target, patch } of kustomization?.patches ?? []) {
        const added = [...patch.matchAll(/value: (--\S+)/g)].map((match) => match[1] ?? '');
        const flags = target.kind === 'DaemonSet' ? agentFlags : controllerFlags;
        assertArguments(flags, ['run', ...added]);
        if (target.kind !== 'ServiceAccount') assert.ok(added.length > 0, name);
      }
    }
  });

  test('starts the programs as the images do', async () => {
    const dockerfile = await readFile(join(examples, '../Dockerfile'), 'utf8');
    const entryPoints = [...dockerfile.matchAll(/^ENTRYPOINT (\[.*\])$/gm)].map((match) => JSON.parse(match[1] ?? ''));
    assert.deepEqual(entryPoints, [agent.containers[0]?.command, controller.containers[0]?.command]);
    assert.deepEqual(
      images.map(({ entrypoint }) => entrypoint),
      entryPoints,
    );
  });

  test('bound the memory of the C library alike in both ways to build an image', async () => {
    const dockerfile = await readFile(join(examples, '../Dockerfile'), 'utf8');
    const [, runtime = ''] = /AS runtime\n([\s\S]*?)\nFROM /.exec(dockerfile) ?? [];
    const environment = [...runtime.matchAll(/^ENV (\w+)="(.*)"$/gm)].map(([, key, value]) => [key, value]);
    assert.deepEqual(environment, Object.entries(memoryEnvironment));
  });

  test('bound the memory of what is run beside the controller in its pod', async () => {
    const dockerfile = await readFile(join(examples, '../Dockerfile'), 'utf8');
    const [, options] = /^FROM runtime AS controller$[\s\S]*^ENV NODE_OPTIONS="(.*)"$/m.exec(dockerfile) ?? [];
    assert.equal(images.find(({ name }) => name === 'mooring-controller')?.nodeOptions, options);
    const [, heapMiB] = /--max-old-space-size=(\d+)/.exec(options ?? '') ?? [];
    const { resources } = controller.containers[0]!;
    assert.ok(Number(heapMiB) < Number.parseInt(resources.limits.memory, 10) / 2, options);
  });

  test('puts the same files into an image by both ways to build it', async () => {
    const dockerfile = await readFile(join(examples, '../Dockerfile'), 'utf8');
    const stages = dockerfile.split(/^FROM /m).filter((stage) => /^runtime AS (agent|controller)$/m.test(stage));
    const copied = stages.map((stage) =>
      [...stage.matchAll(/\/src\/dist\/(\S+)/g)].map(([, file = '']) => file).sort(),
    );
    assert.deepEqual(
      images.map(({ files }) => [...files].sort()),
      copied,
    );
  });
});

test('deploy/mooring.yaml has the objects of deploy/base, and names what to replace', async () => {
  const file = join(import.meta.dirname, '../../deploy/mooring.yaml');
  assert.equal(await readFile(file, 'utf8'), await singleFile(), 'npm run manifests');
  const objects = (await readYaml(file)) as Manifest[];
  const isApart = ({ kind }: Manifest) => kind === 'Deployment' || kind === 'DaemonSet';
  assert.deepEqual(
    objects.filter((each) => !isApart(each)),
    manifests.filter((each) => !isApart(each)),
  );
  const containers = objects
    .filter(isApart)
    .map((each) => (each['spec'] as { template: { spec: PodSpec } }).template.spec.containers[0]!);
  assert.deepEqual(
    containers.map(({ image }) => image),
    ['controller', 'agent'].map((name) => `registry.example.com/mooring-${name}:${version}`),
  );
  assert.deepEqual(containers[0]!.args, ['run', '--cloud-provider=CLOUD']);
});
