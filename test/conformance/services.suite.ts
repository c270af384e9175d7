import { answered, type Fact, invalid, refused } from './kit.ts';
import { absent, like } from './like.ts';

const inRange = (port: unknown) => typeof port === 'number' && port >= 30000 && port <= 32767;
const balancer = { type: 'LoadBalancer' };

type Port = { nodePort: number };

/** What is particular about Services. */
export const serviceFacts: Fact[] = [
  {
    id: 'F1',
    says: 'a new LoadBalancer Service is filled in by the server',
    async run(k) {
      const service = await k.service({ spec: balancer });
      like(service, {
        metadata: { generation: absent },
        spec: {
          clusterIP: /^10\.\d+\.\d+\.\d+$/,
          clusterIPs: [service.spec?.['clusterIP']],
          ports: [{ port: 80, targetPort: 80, protocol: 'TCP', nodePort: inRange }],
          sessionAffinity: 'None',
          externalTrafficPolicy: 'Cluster',
          internalTrafficPolicy: 'Cluster',
          ipFamilies: ['IPv4'],
          ipFamilyPolicy: 'SingleStack',
          allocateLoadBalancerNodePorts: true,
        },
        status: { loadBalancer: {} },
      });
    },
  },
  {
    id: 'F2',
    says: 'node ports can be declined',
    async run(k) {
      const service = await k.service({ spec: { ...balancer, allocateLoadBalancerNodePorts: false } });
      like(service.spec, { ports: [{ nodePort: absent }] });
    },
  },
  {
    id: 'F3',
    says: 'local traffic gets a health check port',
    async run(k) {
      const service = await k.service({ spec: { ...balancer, externalTrafficPolicy: 'Local' } });
      like(service.spec, { healthCheckNodePort: inRange });
    },
  },
  {
    id: 'F4',
    says: 'a node port that is taken or out of range is invalid',
    async run(k) {
      const taken = ((await k.service({ spec: balancer })).spec?.['ports'] as Port[] | undefined)?.[0]?.nodePort;
      const create = (nodePort: number | undefined) =>
        k.post(k.path('services'), {
          metadata: { name: k.name('s') },
          spec: { ...balancer, ports: [{ port: 80, nodePort }] },
        });
      invalid(await create(taken), 'spec.ports[0].nodePort', 'FieldValueInvalid', /provided port is already allocated/);
      invalid(
        await create(80),
        'spec.ports[0].nodePort',
        undefined,
        /provided port is not in the valid range\. .*30000-32767/,
      );
    },
  },
  {
    id: 'F5',
    says: 'a cluster IP that is taken or out of range is invalid, None is headless',
    async run(k) {
      const clusterIP = (await k.service()).spec?.['clusterIP'];
      const create = (ip: unknown) =>
        k.post(k.path('services'), { metadata: { name: k.name('s') }, spec: { clusterIP: ip, ports: [{ port: 80 }] } });
      invalid(await create(clusterIP), 'spec.clusterIPs', 'FieldValueInvalid', /provided IP is already allocated/);
      invalid(await create('192.0.2.1'), 'spec.clusterIPs', undefined, /does not match the current range/);
      like((await k.service({ spec: { clusterIP: 'None' } })).spec, { clusterIP: 'None', clusterIPs: ['None'] });
    },
  },
  {
    id: 'F6',
    says: 'an update without cluster IP and node ports carries them over; the cluster IP may not change',
    async run(k) {
      const { metadata, spec } = await k.service({ spec: balancer });
      const at = k.path('services', metadata.name);
      const bare = { metadata: { name: metadata.name }, spec: { ...balancer, ports: [{ port: 80 }] } };
      answered(await k.put(at, bare), 200, { spec: { clusterIP: spec?.['clusterIP'], ports: spec?.['ports'] } });
      const changed = await k.patch('merge', at, {
        spec: { clusterIP: '10.96.250.250', clusterIPs: ['10.96.250.250'] },
      });
      invalid(changed, 'spec.clusterIPs[0]', undefined, /may not change once set/);
    },
  },
  {
    id: 'F7',
    says: 'loadBalancerClass is set at create or with the type, and never changed',
    async run(k) {
      const { name } = (await k.service()).metadata;
      const at = k.path('services', name);
      const turned = await k.patch('merge', at, { spec: { ...balancer, loadBalancerClass: 'a.example/x' } });
      answered(turned, 200, { spec: { loadBalancerClass: 'a.example/x' } });
      const changed = await k.patch('merge', at, { spec: { loadBalancerClass: 'a.example/y' } });
      invalid(changed, 'spec.loadBalancerClass', undefined, /may not change once set/);
    },
  },
  {
    id: 'F8',
    says: 'a Service that stops being a LoadBalancer loses node ports and ingress, keeps conditions',
    async run(k) {
      const { name } = (await k.service({ spec: balancer })).metadata;
      const at = k.path('services', name);
      const condition = {
        type: 'X',
        status: 'True',
        reason: 'R',
        message: '',
        lastTransitionTime: '2026-01-01T00:00:00Z',
      };
      const status = { loadBalancer: { ingress: [{ ip: '192.0.2.1' }] }, conditions: [condition] };
      answered(await k.patch('merge', `${at}/status`, { status }), 200);
      const turned = await k.patch('merge', at, { spec: { type: 'ClusterIP' } });
      answered(turned, 200, {
        spec: { ports: [{ nodePort: absent }], allocateLoadBalancerNodePorts: absent, externalTrafficPolicy: absent },
        status: { loadBalancer: { ingress: absent }, conditions: [condition] },
      });
      answered(await k.patch('merge', at, { spec: balancer }), 200, { spec: { ports: [{ nodePort: inRange }] } });
    },
  },
  {
    id: 'F9',
    says: 'status and spec are kept apart, labels pass through status',
    async run(k) {
      const { name } = (await k.service({ spec: balancer })).metadata;
      const at = k.path('services', name);
      const status = { loadBalancer: { ingress: [{ ip: '192.0.2.1' }] } };
      answered(await k.patch('merge', at, { status }), 200, { status: { loadBalancer: { ingress: absent } } });
      const change = { metadata: { labels: { a: '1' } }, spec: { sessionAffinity: 'ClientIP' }, status };
      answered(await k.patch('merge', `${at}/status`, change), 200, {
        metadata: { labels: { a: '1' } },
        spec: { sessionAffinity: 'None' },
        status: { loadBalancer: { ingress: [{ ip: '192.0.2.1' }] } },
      });
    },
  },
  {
    id: 'F10',
    says: 'an ingress IP gets the mode VIP, a hostname none; a strategic merge patch replaces the list',
    async run(k) {
      const { name } = (await k.service({ spec: balancer })).metadata;
      const at = `${k.path('services', name)}/status`;
      const set = (ingress: object[]) => k.patch('strategic', at, { status: { loadBalancer: { ingress } } });
      const first = [{ ip: '192.0.2.1' }, { hostname: 'lb.example' }];
      answered(await set(first), 200, {
        status: {
          loadBalancer: {
            ingress: [
              { ip: '192.0.2.1', ipMode: 'VIP' },
              { hostname: 'lb.example', ipMode: absent },
            ],
          },
        },
      });
      answered(await set([{ ip: '192.0.2.2' }]), 200, {
        status: { loadBalancer: { ingress: [{ ip: '192.0.2.2', ipMode: 'VIP' }] } },
      });
      invalid(await set([{ ip: 'nope' }]), 'status.loadBalancer.ingress[0].ip');
    },
  },
  {
    id: 'F10b',
    says: 'an ingress on another type of Service is invalid',
    async run(k) {
      const at = `${k.path('services', (await k.service()).metadata.name)}/status`;
      const answer = await k.patch('merge', at, { status: { loadBalancer: { ingress: [{ ip: '192.0.2.1' }] } } });
      refused(answer, 422, 'Invalid', { message: /may only be used when `spec\.type` is 'LoadBalancer'/ });
    },
  },
  {
    id: 'F11',
    says: 'on a single-stack server PreferDualStack gives one family and RequireDualStack is invalid',
    async run(k) {
      const preferred = await k.service({ spec: { ipFamilyPolicy: 'PreferDualStack' } });
      like(preferred.spec, { ipFamilies: ['IPv4'], clusterIPs: [/^10\./] });
      const spec = { ipFamilyPolicy: 'RequireDualStack', ports: [{ port: 80 }] };
      answered(await k.post(k.path('services'), { metadata: { name: k.name('s') }, spec }), 422);
    },
  },
  {
    id: 'F12',
    says: 'field selectors on name, namespace, type and cluster IP work',
    async run(k) {
      const { name } = (await k.service({ spec: { ...balancer } })).metadata;
      const headless = (await k.service({ spec: { clusterIP: 'None' } })).metadata.name;
      const list = async (fieldSelector: string) =>
        (await k.get('/api/v1/services', { query: { fieldSelector } })).items.map((item) => item.metadata.name);
      like(await list(`metadata.namespace=${k.ns},metadata.name=${name}`), [name]);
      like((await list('spec.type=LoadBalancer')).includes(name), true);
      like((await list('spec.type=LoadBalancer')).includes(headless), false);
      like((await list('spec.clusterIP=None')).includes(headless), true);
    },
  },
  {
    id: 'F13',
    says: 'deleting a Service answers with the Service, with the resourceVersion of the deletion',
    async run(k) {
      const { name, uid, resourceVersion } = (await k.service()).metadata;
      const watch = await k.watch(k.path('services'), { fieldSelector: `metadata.name=${name}`, resourceVersion });
      const answer = await k.delete(k.path('services', name));
      answered(answer, 200, { kind: 'Service', metadata: { name, uid } });
      const event = await watch.next();
      like(event, { type: 'DELETED', object: { metadata: { uid } } });
      like(BigInt(event?.object.metadata.resourceVersion ?? 0) > BigInt(resourceVersion), true);
      like(answer.object.metadata.resourceVersion, event?.object.metadata.resourceVersion);
    },
  },
  {
    id: 'F14',
    says: 'several ports need names',
    async run(k) {
      const spec = { ports: [{ port: 80 }, { name: 'b', port: 81 }] };
      const answer = await k.post(k.path('services'), { metadata: { name: k.name('s') }, spec });
      invalid(answer, 'spec.ports[0].name', 'FieldValueRequired');
    },
  },
];
