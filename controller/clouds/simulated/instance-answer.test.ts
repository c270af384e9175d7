import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readInstance } from './instance-answer.ts';

const operation = 'instances.list';
const item = {
  id: 'i-4f2c9a01be77',
  name: 'worker-1',
  incarnation: '0b7ee19a-52f1-4b4e-9ac1-3de0d4f51c8d',
  region: 'sim-1',
  zone: 'sim-1b',
  type: 'sim.small',
  power: 'running',
  hostname: 'worker-1',
  internalDns: ['worker-1.sim-1b.simulated.internal'],
  externalDns: ['worker-1.sim-1.simulated.example'],
  interfaces: [
    { index: 1, mac: '02:00:00:00:00:02', internal: ['10.0.1.7'], external: [] },
    { index: 0, mac: '02:00:00:00:00:01', internal: ['10.0.0.7', 'FD00:5:0::7'], external: ['198.18.0.7'] },
  ],
  smbiosUuid: '3E1B8D60-7C53-4A8E-8A5C-0F6C0E1F9D21',
  tags: { 'label:pool': 'blue', cost: '7' },
  createdAt: '2026-01-01T00:00:00.000Z',
};

test('an instance has its addresses in the order of its interfaces', () => {
  assert.deepEqual(readInstance(item, 'sim-1', 'list', operation), {
    state: 'found',
    power: 'running',
    request: 'list',
    instance: {
      cloud: 'simulated',
      id: 'i-4f2c9a01be77',
      providerID: 'simulated://sim-1/i-4f2c9a01be77',
      incarnation: '0b7ee19a-52f1-4b4e-9ac1-3de0d4f51c8d',
      name: 'worker-1',
      zone: 'sim-1b',
      region: 'sim-1',
      type: 'sim.small',
      addresses: [
        { type: 'InternalIP', address: '10.0.0.7' },
        { type: 'InternalIP', address: 'fd00:5::7' },
        { type: 'InternalIP', address: '10.0.1.7' },
        { type: 'ExternalIP', address: '198.18.0.7' },
        { type: 'Hostname', address: 'worker-1' },
        { type: 'InternalDNS', address: 'worker-1.sim-1b.simulated.internal' },
        { type: 'ExternalDNS', address: 'worker-1.sim-1.simulated.example' },
      ],
      labels: { pool: 'blue' },
      tags: { 'label:pool': 'blue', cost: '7' },
      smbiosUuid: '3e1b8d60-7c53-4a8e-8a5c-0f6c0e1f9d21',
    },
  });
});

test('each power state has its meaning, and only the terminal one means gone', () => {
  const meaning = (power: string) => {
    const shown = readInstance({ ...item, power }, 'sim-1', 'list', operation);
    return shown.state === 'found' ? shown.power : shown.state;
  };
  assert.deepEqual(['pending', 'running', 'stopping', 'stopped', 'shutting-down', 'terminated'].map(meaning), [
    'changing',
    'running',
    'changing',
    'stopped',
    'changing',
    'gone',
  ]);
});

const refused: [Record<string, unknown>, RegExp][] = [
  [{ id: 'a/b' }, /: instance\.id: "a\/b", expected an instance id/],
  [{ incarnation: undefined }, /: instance\.incarnation: missing, expected a text/],
  [{ power: 'dreaming' }, /: instance\.power: "dreaming", expected one of pending/],
  [{ power: 'constructor' }, /: instance\.power: "constructor", expected/],
  [{ region: 'sim-2' }, /: instance\.region: "sim-2", expected sim-1/],
  [{ zone: 7 }, /: instance\.zone: 7, expected a text/],
  [{ type: '' }, /: instance\.type: "", expected a text/],
  [{ interfaces: null }, /: instance\.interfaces: null, expected a list/],
  [{ interfaces: ['eth0'] }, /: instance\.interfaces: "eth0", expected an object/],
  [
    { interfaces: [{ index: 0, internal: [7], external: [] }] },
    /: instance\.interfaces\.internal: 7, expected a list of texts/,
  ],
  [
    { interfaces: [{ index: 0, internal: [], external: ['10.1.2'] }] },
    /: instance\.interfaces\.external: \["10\.1\.2"\], expected IP addresses/,
  ],
  [
    { interfaces: [{ index: 0, internal: ['fe80::1%eth0'], external: [] }] },
    /: instance\.interfaces\.internal: \["fe80::1%eth0"\], expected IP/,
  ],
  [{ tags: { 'label:a': 1 } }, /: instance\.tags: \{"label:a":1\}, expected an object of texts/],
];

for (const [change, message] of refused) {
  test(`an item with ${JSON.stringify(change)} is refused by the field`, () => {
    assert.throws(
      () => readInstance({ ...item, ...change }, 'sim-1', 'list', operation),
      (error: Error & { kind?: string }) => {
        assert.equal(error.kind, 'Invalid');
        assert.match(error.message, message);
        return true;
      },
    );
  });
}

test('a terminated instance needs no addresses', () => {
  const shown = readInstance(
    { ...item, power: 'terminated', interfaces: [], internalDns: [], externalDns: [] },
    'sim-1',
    'list',
    operation,
  );
  assert.deepEqual(shown, { state: 'gone', terminalState: 'terminated', incarnation: item.incarnation });
});

test('the tag pod-ranges shows the ranges of its pods', () => {
  const podRanges = (value: string) => {
    const shown = readInstance({ ...item, tags: { 'pod-ranges': value } }, 'sim-1', 'list', operation);
    return shown.state === 'found' ? shown.instance.podRanges : undefined;
  };
  assert.deepEqual(podRanges('10.4.1.0/24,fd00:4::/112'), ['10.4.1.0/24', 'fd00:4::/112']);
  assert.deepEqual(podRanges(''), []);
});
