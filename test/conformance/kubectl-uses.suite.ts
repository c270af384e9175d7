import type { Kit } from './kit.ts';
import type { Use } from './kubectl-use.ts';
import { like } from './like.ts';

const uninitialized = { key: 'node.cloudprovider.kubernetes.io/uninitialized', value: 'true', effect: 'NoSchedule' };

function aNode(k: Kit) {
  return k.node({
    metadata: { labels: { 'topology.kubernetes.io/zone': 'z1', 'node-role.kubernetes.io/worker': '' } },
    spec: { taints: [uninitialized] },
    status: {
      addresses: [
        { type: 'InternalIP', address: '10.0.0.1' },
        { type: 'ExternalIP', address: '192.0.2.1' },
      ],
      capacity: { cpu: '2', memory: '4Gi', pods: '110' },
      allocatable: { cpu: '2', memory: '4Gi', pods: '110' },
      conditions: [{ type: 'Ready', status: 'True', reason: 'KubeletReady', message: 'fine' }],
      nodeInfo: {
        kubeletVersion: 'v1.36.2',
        osImage: 'Linux 12',
        kernelVersion: '6.1',
        containerRuntimeVersion: 'containerd://2',
      },
    },
  });
}

/** The header and the row of `name` of a printed table, cells apart by two spaces or more. */
function row(table: string, name: string): Record<string, string> {
  const lines = table.split('\n');
  const header = lines[0] ?? '';
  const starts = [...header.matchAll(/(?<=^|\s{2,})\S+(?: \S+)*/g)].map((match) => ({
    title: match[0],
    at: match.index,
  }));
  const line = lines.find((entry) => entry.split(/\s+/)[0] === name) ?? '';
  const cells = starts.map(({ title, at }, i) => [title, line.slice(at, starts[i + 1]?.at).trim()]);
  return Object.fromEntries(cells);
}

export const kubectlUses: Use[] = [
  {
    id: 'K1',
    says: 'get prints Nodes with status, roles and version, wide with addresses and system',
    async run({ k, ok }) {
      const { name } = (await aNode(k)).metadata;
      like(row(await ok(['get', 'nodes']), name), {
        NAME: name,
        STATUS: 'Ready',
        ROLES: 'worker',
        AGE: /^\d+s$/,
        VERSION: 'v1.36.2',
      });
      like(row(await ok(['get', 'node', name, '-o', 'wide', '-L', 'topology.kubernetes.io/zone']), name), {
        'INTERNAL-IP': '10.0.0.1',
        'EXTERNAL-IP': '192.0.2.1',
        'OS-IMAGE': 'Linux 12',
        'CONTAINER-RUNTIME': 'containerd://2',
        ZONE: 'z1',
      });
    },
  },
  {
    id: 'K1b',
    says: 'get prints names, JSON, a path of it, and what a field selector finds',
    async run({ k, ok }) {
      const { name, uid } = (await aNode(k)).metadata;
      like((await ok(['get', 'no', '--field-selector', `metadata.name=${name}`, '-o', 'name'])).trim(), `node/${name}`);
      like(await ok(['get', 'node', name, '-o', 'jsonpath={.metadata.uid}']), uid);
      like(JSON.parse(await ok(['get', 'nodes', name, '-o', 'json'])), { kind: 'Node', metadata: { name, uid } });
      like(
        await ok(['get', 'nodes', '-l', 'topology.kubernetes.io/zone=z1', '-o', 'custom-columns=N:.metadata.name']),
        new RegExp(name),
      );
    },
  },
  {
    id: 'K1c',
    says: 'get prints Services, Leases, ConfigMaps, Secrets, accounts, Pods, volumes and namespaces',
    async run({ k, ok }) {
      const service = await k.service({ spec: { type: 'LoadBalancer' } });
      const lease = await k.lease({ spec: { holderIdentity: 'me' } });
      const config = await k.configMap({ data: { a: '1', b: '2' } });
      const nodePort = (service.spec?.['ports'] as { nodePort: number }[] | undefined)?.[0]?.nodePort;
      like(row(await ok(['get', 'svc']), service.metadata.name), {
        TYPE: 'LoadBalancer',
        'CLUSTER-IP': service.spec?.['clusterIP'],
        'EXTERNAL-IP': '<pending>',
        'PORT(S)': `80:${nodePort}/TCP`,
      });
      like(row(await ok(['get', 'leases']), lease.metadata.name), { HOLDER: 'me', AGE: /^\d+s$/ });
      like(row(await ok(['get', 'cm']), config.metadata.name), { DATA: '2' });
      like(row(await ok(['get', 'ns']), k.ns), { STATUS: 'Active' });
      for (const resource of ['secrets', 'sa', 'pods', 'pv']) await ok(['get', resource]);
    },
  },
  {
    id: 'K1d',
    says: 'get of what is not there says so',
    async run({ k, run, ok }) {
      const name = k.name();
      const answer = await run(['get', 'node', name]);
      like(answer, { code: 1, stderr: new RegExp(`Error from server \\(NotFound\\): nodes "${name}" not found`) });
      like(await ok(['get', 'node', name, '--ignore-not-found']), '');
    },
  },
  {
    id: 'K2',
    says: 'get -w shows changes as they happen',
    async run({ k, follow }) {
      const { name } = (await aNode(k)).metadata;
      let changes = 0;
      const change = () => {
        changes += 1;
        return k.patch('merge', `/api/v1/nodes/${name}`, { spec: { unschedulable: changes % 2 === 1 } });
      };
      const text = await follow(['get', 'node', name, '-w'], change, (out) => out.includes('SchedulingDisabled'));
      like(text, new RegExp(`${name}\\s+Ready\\s+worker[\\s\\S]*${name}\\s+Ready,SchedulingDisabled`));
    },
  },
  {
    id: 'K3',
    says: 'describe shows a Node with taints, addresses, conditions and its events',
    async run({ k, ok }) {
      const node = await aNode(k);
      const { name, uid } = node.metadata;
      const event = k.name('event');
      const at = '/api/v1/namespaces/default/events';
      k.later(() => k.delete(`${at}/${event}`));
      const stamp = new Date().toISOString().replace(/\.\d+/, '');
      const made = await k.post(at, {
        metadata: { name: event, namespace: 'default' },
        involvedObject: { kind: 'Node', apiVersion: 'v1', name, uid },
        reason: 'Initialized',
        message: 'the node was initialised',
        type: 'Normal',
        source: { component: 'mooring' },
        count: 1,
        firstTimestamp: stamp,
        lastTimestamp: stamp,
      });
      like(made.status, 201, made.text);
      const text = await ok(['describe', 'node', name]);
      like(text, /^Name:\s+/m);
      like(text, /^Taints:\s+node\.cloudprovider\.kubernetes\.io\/uninitialized=true:NoSchedule$/m);
      like(text, /^ {2}InternalIP:\s+10\.0\.0\.1$/m);
      like(text, /^ {2}Ready\s+True .*KubeletReady\s+fine$/m);
      like(text, /Normal\s+Initialized\s+.*mooring\s+the node was initialised/);
    },
  },
  {
    id: 'K3b',
    says: 'describe shows a Service',
    async run({ k, ok }) {
      const { name } = (await k.service({ spec: { type: 'LoadBalancer' } })).metadata;
      const text = await ok(['describe', 'svc', name]);
      like(text, /^Type:\s+LoadBalancer$/m);
      like(text, /^NodePort:\s+<unset>\s+3\d{4}\/TCP$/m);
    },
  },
  {
    id: 'K4',
    says: 'create, apply (created, unchanged, configured, dry run) and delete work on a manifest',
    async run({ k, ok, run }) {
      const [map, service] = [k.name('c'), k.name('s')];
      k.later(() => k.delete(k.path('configmaps', map)));
      k.later(() => k.delete(k.path('services', service)));
      const manifest = (value: string) =>
        [
          `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"${map}"},"data":{"a":"${value}"}}`,
          `{"apiVersion":"v1","kind":"Service","metadata":{"name":"${service}"},"spec":{"type":"LoadBalancer",` +
            '"ports":[{"port":80}]}}',
        ].join('\n');
      const apply = ['apply', '-f', '-'];
      const said = (what: string) => new RegExp(`^configmap/${map} ${what}[^\\n]*\\nservice/${service} `);
      like(await ok([...apply, '--dry-run=server'], manifest('1')), said('created \\(server dry run\\)'));
      like((await k.get(k.path('configmaps', map))).status, 404);
      like(await ok(apply, manifest('1')), said('created'));
      like(await ok(apply, manifest('1')), said('unchanged'));
      like(await ok(apply, manifest('2')), said('configured'));
      like((await k.get(k.path('configmaps', map))).body, { data: { a: '2' } });
      like(await run(['create', '-f', '-'], manifest('1')), { code: 1, stderr: /AlreadyExists/ });
      like(await ok(['delete', '-f', '-'], manifest('2')), new RegExp(`^configmap "${map}" deleted`));
      like((await k.get(k.path('services', service))).status, 404);
    },
  },
  {
    id: 'K4b',
    says: 'a manifest with an unknown field is refused before it is sent',
    realOnly: 'a full OpenAPI document',
    async run({ k, run }) {
      const manifest = `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"${k.name()}"},"bogus":1}`;
      like(await run(['create', '-f', '-'], manifest), { code: 1, stderr: /unknown field "bogus"/ });
    },
  },
  {
    id: 'K4c',
    says: 'generators make ConfigMaps, Secrets, accounts and tokens',
    async run({ k, ok }) {
      const name = k.name('made');
      for (const [resource, args] of [
        ['configmaps', ['create', 'configmap', name, '--from-literal=a=b']],
        ['secrets', ['create', 'secret', 'generic', name, '--from-literal=a=b']],
        ['serviceaccounts', ['create', 'sa', name]],
      ] as const) {
        k.later(() => k.delete(k.path(resource, name)));
        like(await ok([...args]), / created$/m);
      }
      like(await ok(['create', 'token', name]), /^ey[\w-]+\.[\w-]+\.[\w-]+$/m);
      like(await ok(['get', 'secret', name, '-o', 'jsonpath={.data.a}']), 'Yg==');
    },
  },
  {
    id: 'K5',
    says: 'patch works in its three kinds and on the status subresource',
    async run({ k, ok }) {
      const { name } = (await aNode(k)).metadata;
      const patch = (...args: string[]) => ok(['patch', 'node', name, ...args]);
      like(await patch('-p', '{"metadata":{"labels":{"a":"b"}}}'), `node/${name} patched\n`);
      like(await patch('-p', '{"metadata":{"labels":{"a":"b"}}}'), `node/${name} patched (no change)\n`);
      await patch('--type=merge', '-p', '{"spec":{"unschedulable":true}}');
      await patch('--type=json', '-p', '[{"op":"remove","path":"/spec/unschedulable"}]');
      const condition = { type: 'Ready', status: 'Unknown' };
      await patch('--subresource=status', '-p', JSON.stringify({ status: { conditions: [condition] } }));
      like((await k.get(`/api/v1/nodes/${name}`)).body, {
        metadata: { labels: { a: 'b' } },
        status: { conditions: [{ ...condition, reason: 'KubeletReady' }] },
      });
    },
  },
  {
    id: 'K6',
    says: 'taint, label, annotate and cordon put on and take off',
    async run({ k, ok }) {
      const { name } = (await aNode(k)).metadata;
      like(await ok(['taint', 'node', name, 'x=y:NoSchedule']), `node/${name} tainted\n`);
      like(await ok(['taint', 'node', name, `${uninitialized.key}-`]), `node/${name} untainted\n`);
      like(await ok(['label', 'node', name, 'c=d']), `node/${name} labeled\n`);
      like(await ok(['label', 'node', name, 'topology.kubernetes.io/zone-']), `node/${name} unlabeled\n`);
      like(await ok(['annotate', 'node', name, 'mooring.dev/paused=true']), `node/${name} annotated\n`);
      like(await ok(['cordon', name]), `node/${name} cordoned\n`);
      like((await k.get(`/api/v1/nodes/${name}`)).body, {
        metadata: {
          labels: (labels: Record<string, string>) => labels['c'] === 'd' && !labels['topology.kubernetes.io/zone'],
          annotations: { 'mooring.dev/paused': 'true' },
        },
        spec: {
          unschedulable: true,
          taints: (taints: { key: string }[]) => {
            const keys = taints.map((taint) => taint.key);
            return keys.includes('x') && !keys.includes(uninitialized.key);
          },
        },
      });
      like(await ok(['uncordon', name]), `node/${name} uncordoned\n`);
    },
  },
  {
    id: 'K7',
    says: 'delete waits until the object is gone; a finalizer holds it',
    async run({ k, ok, run }) {
      const { name } = (await aNode(k)).metadata;
      like(await ok(['delete', 'node', name]), new RegExp(`^node "${name}" deleted`));
      const held = await k.configMap({ metadata: { finalizers: ['c.example/a'] } });
      const waited = await run(['delete', 'cm', held.metadata.name, '--timeout=1s']);
      like(waited, { code: 1, stderr: /timed out waiting for the condition/ });
      like((await k.get(k.path('configmaps', held.metadata.name))).body, { metadata: { deletionTimestamp: /Z$/ } });
    },
  },
  {
    id: 'K8',
    says: 'api-resources lists what is served, with short names and kinds',
    async run({ ok }) {
      const table = await ok(['api-resources']);
      for (const [name, kind, namespaced] of [
        ['nodes', 'Node', 'false'],
        ['services', 'Service', 'true'],
        ['configmaps', 'ConfigMap', 'true'],
        ['leases', 'Lease', 'true'],
        ['persistentvolumes', 'PersistentVolume', 'false'],
        ['tokenreviews', 'TokenReview', 'false'],
      ] as const) {
        like(row(table, name), { KIND: kind, NAMESPACED: namespaced }, name);
      }
      like(row(table, 'nodes'), { SHORTNAMES: 'no', APIVERSION: 'v1' });
    },
  },
  {
    id: 'K9',
    says: 'auth can-i answers by exit code for oneself, with a word',
    async run({ k, run }) {
      like(await run(['auth', 'can-i', 'patch', 'nodes', '--subresource=status']), { code: 0, stdout: /^yes/m });
      const { token } = await k.account();
      like(await run(['--token', token, 'auth', 'can-i', 'delete', 'nodes']), { code: 1, stdout: /^no/m });
    },
  },
  {
    id: 'K9b',
    says: 'auth can-i asks for another one, and auth whoami says who one is',
    realOnly: 'impersonation',
    async run({ run, ok }) {
      like(await run(['auth', 'can-i', 'list', 'nodes', '--as=bob']), { code: 1, stdout: /^no/m });
      like(await ok(['auth', 'whoami']), /Username\s+admin/);
    },
  },
  {
    id: 'K10',
    says: 'events are printed with reason, object and message',
    async run({ k, ok }) {
      const { name, uid } = (await k.service()).metadata;
      const event = k.name('event');
      k.later(() => k.delete(k.path('events', event)));
      const made = await k.post(k.path('events'), {
        metadata: { name: event },
        involvedObject: { kind: 'Service', apiVersion: 'v1', name, uid, namespace: k.ns },
        reason: 'Testing',
        message: 'something happened',
        type: 'Warning',
        count: 1,
        firstTimestamp: new Date().toISOString().replace(/\.\d+/, ''),
        lastTimestamp: new Date().toISOString().replace(/\.\d+/, ''),
      });
      like(made.status, 201, made.text);
      const line = new RegExp(`Warning\\s+Testing\\s+service/${name}\\s+something happened`, 'i');
      like(await ok(['events']), line);
      like(await ok(['get', 'events']), line);
      like(await ok(['get', 'events', '--field-selector', `involvedObject.name=${name}`]), line);
    },
  },
  {
    id: 'K11',
    says: 'wait, version and raw paths work',
    async run({ k, ok }) {
      const { name } = (await aNode(k)).metadata;
      like(await ok(['wait', `node/${name}`, '--for=condition=Ready', '--timeout=5s']), /condition met/);
      like(await ok(['version']), /^Server Version: v1\./m);
      like(await ok(['get', '--raw', '/readyz']), 'ok');
    },
  },
];
