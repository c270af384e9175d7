import { answered, type Fact, invalid, refused } from './kit.ts';
import { absent, like } from './like.ts';

const nodes = '/api/v1/nodes';
const address = { type: 'InternalIP', address: '10.0.0.1' };

/** What is particular about Nodes. */
export const nodeFacts: Fact[] = [
  {
    id: 'E1',
    says: 'a status written through the main resource is ignored',
    async run(k) {
      const node = await k.node({ status: { addresses: [address] } });
      const at = `${nodes}/${node.metadata.name}`;
      const other = { status: { addresses: [{ type: 'Hostname', address: 'x' }] } };
      answered(await k.put(at, { ...node, ...other }), 200, { status: { addresses: [address] } });
      for (const kind of ['merge', 'strategic'] as const) {
        answered(await k.patch(kind, at, other), 200, { status: { addresses: [address] } });
      }
    },
  },
  {
    id: 'E2',
    says: 'through status the spec is ignored, but labels and annotations are applied',
    async run(k) {
      const node = await k.node();
      const at = `${nodes}/${node.metadata.name}/status`;
      const taints = [{ key: 'node.kubernetes.io/not-ready', effect: 'NoSchedule' }];
      const change = { spec: { providerID: 'a://1', taints: [], unschedulable: true } };
      const kept = { spec: { providerID: absent, taints, unschedulable: absent } };
      const patched = await k.patch('merge', at, {
        ...change,
        metadata: { labels: { a: '1' }, annotations: { b: '2' } },
      });
      answered(patched, 200, { ...kept, metadata: { labels: { a: '1' }, annotations: { b: '2' } } });
      const labels = { c: '3' };
      const put = await k.put(at, { ...node, ...change, metadata: { name: node.metadata.name, labels } });
      answered(put, 200, { ...kept, metadata: { labels: { c: '3', a: absent } } });
    },
  },
  {
    id: 'E3',
    says: 'providerID is set once and never changed or dropped',
    async run(k) {
      const node = await k.node();
      const at = `${nodes}/${node.metadata.name}`;
      const message = /node updates may not change providerID except from "" to valid/;
      const set = (providerID: string | null) => k.patch('merge', at, { spec: { providerID } });
      answered(await set('a://1'), 200, { spec: { providerID: 'a://1' } });
      answered(await set('a://1'), 200);
      invalid(await set('a://2'), 'spec.providerID', 'FieldValueForbidden', message);
      invalid(await set(null), 'spec.providerID', 'FieldValueForbidden', message);
      const without = { metadata: { name: node.metadata.name }, spec: {} };
      invalid(await k.put(at, without), 'spec.providerID', 'FieldValueForbidden', message);
    },
  },
  {
    id: 'E4',
    says: 'podCIDR is set once and fills podCIDRs',
    async run(k) {
      const at = `${nodes}/${(await k.node()).metadata.name}`;
      const set = (podCIDR: string) => k.patch('merge', at, { spec: { podCIDR, podCIDRs: [podCIDR] } });
      const first = await k.patch('merge', at, { spec: { podCIDR: '10.244.1.0/24' } });
      answered(first, 200, { spec: { podCIDR: '10.244.1.0/24', podCIDRs: ['10.244.1.0/24'] } });
      const message = /node updates may not change podCIDR except from "" to valid/;
      invalid(await set('10.244.2.0/24'), 'spec.podCIDRs', 'FieldValueForbidden', message);
      const other = `${nodes}/${(await k.node()).metadata.name}`;
      invalid(await k.patch('merge', other, { spec: { podCIDR: 'nope' } }), 'spec.podCIDRs[0]', 'FieldValueInvalid');
    },
  },
  {
    id: 'E5',
    says: 'taints: the same key and effect twice is a duplicate, an unknown effect not supported, no time is added',
    async run(k) {
      const at = `${nodes}/${(await k.node()).metadata.name}`;
      const set = (taints: object[]) => k.patch('merge', at, { spec: { taints } });
      const a = { key: 'a', effect: 'NoSchedule' };
      invalid(await set([a, { ...a, value: 'x' }]), 'metadata.taints[1]', 'FieldValueDuplicate');
      refused(await set([{ key: 'a', effect: 'Maybe' }]), 422, 'Invalid', { message: /Unsupported value: "Maybe"/ });
      answered(await set([a, { key: 'a', effect: 'NoExecute' }]), 200, {
        spec: {
          taints: [
            { ...a, timeAdded: absent },
            { key: 'a', effect: 'NoExecute', timeAdded: absent },
          ],
        },
      });
    },
  },
  {
    id: 'E5b',
    says: 'a taint put off and on again lets the object pass validation as before',
    async run(k) {
      const taint = { key: 'node.cloudprovider.kubernetes.io/uninitialized', value: 'true', effect: 'NoSchedule' };
      const node = await k.node({ spec: { taints: [taint] } });
      const at = `${nodes}/${node.metadata.name}`;
      const rest = ((node.spec?.['taints'] ?? []) as { key: string }[]).filter(({ key }) => key !== taint.key);
      answered(await k.patch('merge', at, { spec: { taints: rest } }), 200, { spec: { taints: rest } });
      const again = await k.patch('merge', at, { spec: { taints: [...rest, taint] } });
      answered(again, 200, { spec: { taints: [...rest, taint] } });
    },
  },
  {
    id: 'E6',
    says: 'addresses are not validated but for duplicates of type and address',
    async run(k) {
      const at = `${nodes}/${(await k.node()).metadata.name}/status`;
      const set = (addresses: object[]) => k.patch('merge', at, { status: { addresses } });
      answered(await set([{ type: 'Foo', address: 'not an ip' }]), 200);
      answered(await set([address, { ...address, type: 'ExternalIP' }]), 200);
      refused(await set([address, address]), 422, 'Invalid', { message: /Duplicate value/ });
    },
  },
  {
    id: 'E7',
    says: 'field selectors know metadata.name and spec.unschedulable alone',
    async run(k) {
      const { name } = (await k.node({ spec: { unschedulable: true } })).metadata;
      const list = (fieldSelector: string) => k.get(nodes, { query: { fieldSelector } });
      like((await list(`metadata.name=${name}`)).items, [{ metadata: { name } }]);
      like((await list(`metadata.name=${name},spec.unschedulable=true`)).items, [{ metadata: { name } }]);
      like((await list(`metadata.name=${name},spec.unschedulable=false`)).items, []);
      like((await list(`metadata.name=${name},spec.unschedulable!=true`)).items, []);
      refused(await list('spec.providerID=x'), 400, 'BadRequest', {
        message: /field label not supported: spec\.providerID/,
      });
    },
  },
  {
    id: 'E8',
    says: 'deleting a Node answers with a Status of success, at once',
    async run(k) {
      const { name, uid } = (await k.node()).metadata;
      const answer = await k.delete(`${nodes}/${name}`, undefined, { query: { gracePeriodSeconds: 30 } });
      answered(answer, 200, { kind: 'Status', status: 'Success', details: { name, kind: 'nodes', uid } });
      answered(await k.get(`${nodes}/${name}`), 404);
    },
  },
  {
    id: 'E9',
    says: 'quantities in status are normalised',
    async run(k) {
      const node = await k.node({ status: { capacity: { cpu: '3.5', memory: '1024Mi' } } });
      like(node.status, { capacity: { cpu: '3500m', memory: '1Gi' } });
    },
  },
  {
    id: 'E10',
    says: 'a kubelet may patch its own status and not another one',
    async run(k) {
      const name = 'node-1';
      const token = k.api.nodeToken(name);
      answered(await k.post(nodes, { metadata: { name } }, { token }), 201);
      k.later(() => k.delete(`${nodes}/${name}`));
      const patch = { status: { conditions: [{ type: 'Ready', status: 'True' }] } };
      answered(await k.patch('strategic', `${nodes}/${name}/status`, patch, { token }), 200);
      const other = (await k.node()).metadata.name;
      answered(await k.patch('strategic', `${nodes}/${other}/status`, patch, { token }), 403);
    },
  },
  {
    id: 'E10b',
    says: 'a kubelet may set its own providerID, but not take a taint off',
    async run(k) {
      const name = 'node-2';
      const token = k.api.nodeToken(name);
      const taint = { key: 'node.cloudprovider.kubernetes.io/uninitialized', value: 'true', effect: 'NoSchedule' };
      const made = await k.post(nodes, { metadata: { name }, spec: { taints: [taint] } }, { token });
      answered(made, 201, { spec: { taints: [taint, { key: 'node.kubernetes.io/not-ready' }] } });
      k.later(() => k.delete(`${nodes}/${name}`));
      answered(await k.patch('merge', `${nodes}/${name}`, { spec: { providerID: 'a://1' } }, { token }), 200);
      refused(await k.patch('merge', `${nodes}/${name}`, { spec: { taints: [] } }, { token }), 403, 'Forbidden', {
        message: /is not allowed to modify taints/,
      });
    },
  },
  {
    id: 'E11',
    says: 'times of a condition that were not given are null, not missing',
    async run(k) {
      const node = await k.node({ status: { conditions: [{ type: 'Ready', status: 'True' }] } });
      like(node.status, { conditions: [{ lastHeartbeatTime: null, lastTransitionTime: null, reason: absent }] });
    },
  },
];
