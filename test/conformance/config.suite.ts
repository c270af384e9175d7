import { answered, type Fact, invalid, refused } from './kit.ts';
import { absent, like } from './like.ts';

const base64 = (text: string) => Buffer.from(text).toString('base64');

/** Secrets, ConfigMaps and PersistentVolumes, as far as controllers keep things in them. */
export const config: Fact[] = [
  {
    id: 'S1',
    says: 'a Secret is Opaque unless it says otherwise, holds base64, and takes plain text through stringData',
    async run(k) {
      const name = k.name('secret');
      const at = k.path('secrets', name);
      k.later(() => k.delete(at));
      const made = await k.post(k.path('secrets'), {
        metadata: { name },
        data: { a: base64('1') },
        stringData: { b: '2' },
      });
      answered(made, 201, { type: 'Opaque', data: { a: base64('1'), b: base64('2') }, stringData: absent });
      const patched = await k.patch('merge', at, { data: { a: null }, stringData: { c: '3' } });
      answered(patched, 200, { data: { a: absent, b: base64('2'), c: base64('3') } });
      refused(await k.patch('merge', at, { data: { a: 'no base64!' } }), 422, 'Invalid');
      refused(await k.post(k.path('secrets'), { metadata: { name: k.name() }, data: { a: '!' } }), 400, 'BadRequest');
    },
  },
  {
    id: 'S2',
    says: 'a Secret for TLS needs both parts, and no Secret changes its type',
    async run(k) {
      const name = k.name('secret');
      const at = k.path('secrets', name);
      k.later(() => k.delete(at));
      const secret = { metadata: { name }, type: 'kubernetes.io/tls', data: { 'tls.crt': base64('c') } };
      invalid(await k.post(k.path('secrets'), secret), 'data[tls.key]', 'FieldValueRequired');
      answered(await k.post(k.path('secrets'), { ...secret, data: { ...secret.data, 'tls.key': base64('k') } }), 201);
      invalid(await k.patch('merge', at, { type: 'Opaque' }), 'type', undefined, /field is immutable/);
    },
  },
  {
    id: 'S3',
    says: 'an immutable ConfigMap keeps its data',
    async run(k) {
      const { name } = (await k.configMap({ data: { a: '1' } })).metadata;
      const at = k.path('configmaps', name);
      answered(await k.patch('merge', at, { immutable: true }), 200);
      refused(await k.patch('merge', at, { data: { a: '2' } }), 422, 'Invalid', {
        message: /field is immutable when `immutable` is set/,
      });
      answered(await k.patch('merge', at, { metadata: { labels: { a: 'b' } } }), 200);
    },
  },
  {
    id: 'S4',
    says: 'keys of a ConfigMap are file names, values are text',
    async run(k) {
      const create = (data: object) => k.post(k.path('configmaps'), { metadata: { name: k.name() }, data });
      invalid(await create({ 'a/b': '1' }), 'data[a/b]', 'FieldValueInvalid');
      refused(await create({ a: 1 }), 400, 'BadRequest', { message: /cannot unmarshal number/ });
      like((await k.configMap({ data: { 'controller-urls': 'https://10.0.0.1:10270\n' } }))['data'], {
        'controller-urls': 'https://10.0.0.1:10270\n',
      });
    },
  },
  {
    id: 'S5',
    says: 'a PersistentVolume takes labels, and its node affinity only once',
    async run(k) {
      const name = k.name('pv');
      const at = `/api/v1/persistentvolumes/${name}`;
      k.later(async () => {
        await k.delete(at);
        return k.patch('merge', at, { metadata: { finalizers: null } });
      });
      const affinity = (zone: string) => ({
        required: {
          nodeSelectorTerms: [
            { matchExpressions: [{ key: 'topology.kubernetes.io/zone', operator: 'In', values: [zone] }] },
          ],
        },
      });
      const spec = {
        capacity: { storage: '1Gi' },
        accessModes: ['ReadWriteOnce'],
        csi: { driver: 'd', volumeHandle: 'v' },
      };
      const made = await k.post('/api/v1/persistentvolumes', { metadata: { name }, spec });
      answered(made, 201, {
        metadata: { finalizers: ['kubernetes.io/pv-protection'] },
        spec: { persistentVolumeReclaimPolicy: 'Retain', volumeMode: 'Filesystem' },
      });
      const first = { metadata: { labels: { zone: 'z1' } }, spec: { nodeAffinity: affinity('z1') } };
      answered(await k.patch('strategic', at, first), 200, first);
      refused(await k.patch('merge', at, { spec: { nodeAffinity: affinity('z2') } }), 422, 'Invalid');
    },
  },
];
