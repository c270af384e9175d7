import { answered, type Fact, invalid, type Kit } from './kit.ts';
import { like } from './like.ts';

const micro = '2026-01-02T03:04:05.678901Z';

function about(node: string, name: string, more: Record<string, unknown> = {}) {
  return {
    metadata: { name, namespace: 'default' },
    involvedObject: { kind: 'Node', apiVersion: 'v1', name: node, uid: node },
    reason: 'Test',
    message: 'a message',
    type: 'Normal',
    source: { component: 'test' },
    count: 1,
    firstTimestamp: '2026-01-02T03:04:05Z',
    lastTimestamp: '2026-01-02T03:04:05Z',
    ...more,
  };
}

const core = '/api/v1/namespaces/default/events';
const grouped = '/apis/events.k8s.io/v1/namespaces/default/events';

function newStyle(name: string, more: Record<string, unknown> = {}) {
  return {
    metadata: { name, namespace: 'default' },
    regarding: { kind: 'Node', apiVersion: 'v1', name: 'n' },
    reason: 'Test',
    note: 'a note',
    action: 'Testing',
    type: 'Normal',
    eventTime: micro,
    reportingController: 'mooring.dev/test',
    reportingInstance: 'test-0',
    ...more,
  };
}

async function made(k: Kit, collection: string, body: { metadata: { name: string } }) {
  k.later(() => k.delete(`${core}/${body.metadata.name}`));
  const answer = await k.post(collection, body);
  answered(answer, 201);
  return answer.object;
}

export const events: Fact[] = [
  {
    id: 'J4',
    says: 'an Event about a Node lives in default; its count may be patched; a taken name is a conflict',
    async run(k) {
      const body = about('n', k.name());
      await made(k, core, body);
      answered(await k.post(core, body), 409);
      const at = `${core}/${body.metadata.name}`;
      const again = { count: 2, lastTimestamp: '2026-01-02T03:05:05Z' };
      answered(await k.patch('strategic', at, again), 200, again);
      answered(await k.patch('merge', `${core}/${k.name()}`, again), 404);
    },
  },
  {
    id: 'J4b',
    says: 'an Event about a Node is invalid elsewhere',
    async run(k) {
      const body = about('n', k.name());
      const answer = await k.post(k.path('events'), { ...body, metadata: { name: body.metadata.name } });
      invalid(answer, 'involvedObject.namespace', undefined, /does not match event\.namespace/);
    },
  },
  {
    id: 'J4c',
    says: 'an Event about a namespaced object lives beside it',
    async run(k) {
      const { name, uid } = (await k.service()).metadata;
      const event = k.name();
      k.later(() => k.delete(k.path('events', event)));
      const involvedObject = { kind: 'Service', apiVersion: 'v1', name, uid, namespace: k.ns };
      const body = { ...about('n', event), metadata: { name: event }, involvedObject };
      answered(await k.post(k.path('events'), body), 201, { involvedObject });
      const query = {
        fieldSelector: `involvedObject.kind=Service,involvedObject.name=${name},involvedObject.uid=${uid}`,
      };
      const { items } = await k.get(k.path('events'), { query });
      // A server that repairs the Service's addresses at its start has Events about it too.
      like(
        items.filter(({ metadata }: { metadata: { name: string } }) => metadata.name === event),
        [{ involvedObject }],
      );
    },
  },
  {
    id: 'J5',
    says: 'an Event is readable through both groups',
    async run(k) {
      const body = newStyle(k.name());
      await made(k, grouped, body);
      answered(await k.get(`${core}/${body.metadata.name}`), 200, {
        kind: 'Event',
        apiVersion: 'v1',
        message: 'a note',
        involvedObject: { kind: 'Node', name: 'n' },
        reportingComponent: 'mooring.dev/test',
        eventTime: micro,
      });
      const old = about('n', k.name());
      await made(k, core, old);
      answered(await k.get(`${grouped}/${old.metadata.name}`), 200, {
        apiVersion: 'events.k8s.io/v1',
        note: 'a message',
        regarding: { kind: 'Node', name: 'n' },
      });
    },
  },
  {
    id: 'J5b',
    says: 'an Event of the new group needs a time and a known type, and only its series may change',
    async run(k) {
      invalid(await k.post(grouped, newStyle(k.name(), { eventTime: null })), 'eventTime', 'FieldValueRequired');
      like((await k.post(grouped, newStyle(k.name(), { type: 'Odd' }))).status, 422);
      const body = newStyle(k.name());
      await made(k, grouped, body);
      const at = `${grouped}/${body.metadata.name}`;
      const series = { count: 2, lastObservedTime: micro };
      answered(await k.patch('strategic', at, { series }), 200, { series });
      const changed = await k.patch('strategic', at, { note: 'other' });
      like(changed.status, 422);
      like(changed.body, { message: /field is immutable/ });
    },
  },
];
