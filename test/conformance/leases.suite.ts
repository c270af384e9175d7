import { answered, type Fact, invalid, refused } from './kit.ts';
import { absent, like } from './like.ts';

const now = '2026-01-02T03:04:05.678901Z';

/** Leases, on which leader election rests. */
export const leases: Fact[] = [
  {
    id: 'J1',
    says: 'times of a Lease have exactly six digits; others are a bad request',
    async run(k) {
      const made = await k.lease({ spec: { renewTime: now, acquireTime: now } });
      like(made.spec, { renewTime: now, acquireTime: now });
      const at = k.path('leases', made.metadata.name);
      for (const digits of ['', '.6', '.678', '.678901234']) {
        const renewTime = `2026-01-02T03:04:05${digits}Z`;
        const put = await k.put(at, { metadata: { name: made.metadata.name }, spec: { renewTime } });
        refused(put, 400, 'BadRequest', { message: /cannot parse/ });
        like((await k.patch('merge', at, { spec: { renewTime } })).status, 422, renewTime);
        like((await k.post(k.path('leases'), { metadata: { name: k.name() }, spec: { renewTime } })).status, 400);
      }
      const offset = await k.patch('merge', at, { spec: { renewTime: '2026-01-02T05:04:05.678901+02:00' } });
      answered(offset, 200, { spec: { renewTime: now } });
    },
  },
  {
    id: 'J1b',
    says: 'times of conditions are whole seconds',
    async run(k) {
      const node = await k.node({
        status: { conditions: [{ type: 'Ready', status: 'True', lastHeartbeatTime: '2026-01-02T03:04:05.678Z' }] },
      });
      like(node.status, { conditions: [{ lastHeartbeatTime: '2026-01-02T03:04:05Z' }] });
    },
  },
  {
    id: 'J2',
    says: 'of two updates with one resourceVersion the second is a conflict',
    async run(k) {
      const lease = await k.lease({ spec: { holderIdentity: 'a' } });
      const at = k.path('leases', lease.metadata.name);
      const answers = await Promise.all(
        ['b', 'c', 'd'].map((holderIdentity) => k.put(at, { ...lease, spec: { holderIdentity } })),
      );
      like(answers.map((answer) => answer.status).sort(), [200, 409, 409]);
      const won = answers.find((answer) => answer.status === 200);
      answered(await k.get(at), 200, { spec: { holderIdentity: won?.object.spec?.['holderIdentity'] } });
    },
  },
  {
    id: 'J2b',
    says: 'creating one Lease twice succeeds once',
    async run(k) {
      const name = k.name();
      k.later(() => k.delete(k.path('leases', name)));
      const answers = await Promise.all(
        [1, 2, 3].map(() => k.post(k.path('leases'), { metadata: { name }, spec: {} })),
      );
      like(answers.map((answer) => answer.status).sort(), [201, 409, 409]);
    },
  },
  {
    id: 'J2c',
    says: 'a PUT with the largest version creates an absent Lease once, and is a conflict for all others',
    async run(k) {
      const name = k.name();
      k.later(() => k.delete(k.path('leases', name)));
      const put = (holderIdentity: string) =>
        k.put(k.path('leases', name), {
          metadata: { name, resourceVersion: '9223372036854775807' },
          spec: { holderIdentity },
        });
      const answers = await Promise.all(['a', 'b', 'c'].map(put));
      like(answers.map((answer) => answer.status).sort(), [201, 409, 409]);
      refused(await put('d'), 409, 'Conflict');
    },
  },
  {
    id: 'J2d',
    says: 'a right to create that is narrowed to a name holds for a PUT of that name, and for no POST',
    async run(k) {
      const [mine, kept] = [k.name(), k.name()];
      const rule = { apiGroups: ['coordination.k8s.io'], resources: ['leases'] };
      const { token } = await k.accountWith([
        { ...rule, resourceNames: [mine], verbs: ['get', 'create', 'update'] },
        { ...rule, resourceNames: [kept], verbs: ['get', 'update'] },
      ]);
      k.later(() => k.delete(k.path('leases', mine)));
      const put = (name: string) => k.put(k.path('leases', name), { metadata: { name }, spec: {} }, { token });
      const post = (name: string) => k.post(k.path('leases'), { metadata: { name }, spec: {} }, { token });
      const message = /cannot create resource "leases" in API group "coordination\.k8s\.io"/;
      refused(await post(mine), 403, 'Forbidden', { message });
      refused(await put(kept), 403, 'Forbidden', { message });
      answered(await put(mine), 201);
    },
  },
  {
    id: 'J3',
    says: 'durations are positive and transitions not negative',
    async run(k) {
      const create = (spec: object) => k.post(k.path('leases'), { metadata: { name: k.name() }, spec });
      invalid(
        await create({ leaseDurationSeconds: 0 }),
        'spec.leaseDurationSeconds',
        undefined,
        /must be greater than 0/,
      );
      invalid(
        await create({ leaseTransitions: -1 }),
        'spec.leaseTransitions',
        undefined,
        /must be greater than or equal to 0/,
      );
    },
  },
  {
    id: 'J3b',
    says: 'a released Lease may have an empty holder',
    async run(k) {
      const lease = await k.lease({
        metadata: { annotations: { 'mooring.dev/report-url': 'https://10.0.0.1:10270' } },
        spec: { holderIdentity: 'a', leaseDurationSeconds: 15, renewTime: now, leaseTransitions: 0 },
      });
      const at = k.path('leases', lease.metadata.name);
      const released = await k.put(at, {
        ...lease,
        spec: { ...lease.spec, holderIdentity: '', leaseDurationSeconds: 1 },
      });
      answered(released, 200, { spec: { leaseDurationSeconds: 1, renewTime: now, leaseTransitions: 0 } });
      like(released.object.spec?.['holderIdentity'] ?? '', '');
      answered(await k.patch('merge', at, { spec: { renewTime: null } }), 200, { spec: { renewTime: absent } });
    },
  },
];
