import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type LoadBalancer, readListener, readLoadBalancer, readMember, readMonitor, readPool } from './answer.ts';
import { compare, readStatusTree } from './status-tree.ts';

const read = 'test';

/** One listener with its pool, two members and a monitor, as our steps have left it. */
function known(): LoadBalancer {
  const member = (id: string, address: string) =>
    readMember({ id, address, protocol_port: 30080, provisioning_status: 'PENDING_UPDATE' }, read);
  return {
    ...readLoadBalancer({ id: 'lb', provisioning_status: 'ACTIVE' }, read),
    listeners: [readListener({ id: 'l', default_pool_id: 'p', provisioning_status: 'PENDING_UPDATE' }, read)],
    pools: [
      {
        ...readPool({ id: 'p', provisioning_status: 'PENDING_UPDATE', healthmonitor_id: '' }, read),
        members: [member('10.0.0.1 30080', '10.0.0.1'), member('m2', '10.0.0.2')],
        monitor: readMonitor({ id: 'h', type: 'HTTP', provisioning_status: 'PENDING_UPDATE' }, read),
      },
    ],
  };
}

/** What Octavia answers, and what is to be changed in it. */
function tree(change: (parts: ReturnType<typeof partsOf>) => void = () => {}) {
  const parts = partsOf();
  change(parts);
  const { loadbalancer, listener, pool, members, monitor } = parts;
  pool['members'] = members;
  if (monitor) pool['health_monitor'] = monitor;
  if (listener) listener['pools'] = [pool];
  return readStatusTree(
    { statuses: { loadbalancer: { ...loadbalancer, listeners: listener ? [listener] : [] } } },
    read,
  );
}

function partsOf() {
  const leaf = (id: string): Record<string, unknown> => ({
    id,
    provisioning_status: 'ACTIVE',
    operating_status: 'ONLINE',
  });
  return {
    loadbalancer: leaf('lb'),
    listener: leaf('l') as Record<string, unknown> | undefined,
    pool: leaf('p'),
    members: [
      { ...leaf('m1'), address: '10.0.0.1', protocol_port: 30080 },
      { ...leaf('m2'), address: '10.0.0.2', protocol_port: 30080, operating_status: 'ERROR' },
    ] as Record<string, unknown>[],
    monitor: { ...leaf('h'), type: 'HTTP' } as Record<string, unknown> | undefined,
  };
}

describe('the statuses of everything on a load balancer', () => {
  it('agree with what is known, and tell ids and what the checks say', () => {
    const compared = compare(known(), tree());
    assert.ok(compared.is === 'as known');
    const [pool] = compared.loadBalancer.pools;
    assert.deepEqual(
      pool?.members?.map(({ id, status, healthy }) => [id, status, healthy]),
      [
        ['m1', 'ACTIVE', true],
        ['m2', 'ACTIVE', false],
      ],
    );
    assert.deepEqual([pool?.memberIds, pool?.monitorId], [['m1', 'm2'], 'h']);
  });

  const others: readonly (readonly [string, Parameters<typeof tree>[0], 'different' | 'at work'])[] = [
    [
      'a load balancer in ERROR',
      ({ loadbalancer }) => void Object.assign(loadbalancer, { provisioning_status: 'ERROR' }),
      'different',
    ],
    ['a listener less', (parts) => void Object.assign(parts, { listener: undefined }), 'different'],
    ['another listener', ({ listener }) => void Object.assign(listener!, { id: 'other' }), 'different'],
    ['another pool', ({ pool }) => void Object.assign(pool, { id: 'other' }), 'different'],
    ['a member less', ({ members }) => void members.pop(), 'different'],
    [
      'a member more',
      ({ members }) => void members.push({ ...members[0], id: 'm3', address: '10.0.0.3' }),
      'different',
    ],
    ['a member on another port', ({ members }) => void Object.assign(members[0]!, { protocol_port: 1 }), 'different'],
    [
      'a member in ERROR',
      ({ members }) => void Object.assign(members[0]!, { provisioning_status: 'ERROR' }),
      'different',
    ],
    ['a monitor less', (parts) => void Object.assign(parts, { monitor: undefined }), 'different'],
    ['another monitor', ({ monitor }) => void Object.assign(monitor!, { type: 'TCP' }), 'different'],
    ['a pool at work', ({ pool }) => void Object.assign(pool, { provisioning_status: 'PENDING_CREATE' }), 'at work'],
    [
      'a member at work',
      ({ members }) => void Object.assign(members[1]!, { provisioning_status: 'PENDING_UPDATE' }),
      'at work',
    ],
    [
      'a monitor at work',
      ({ monitor }) => void Object.assign(monitor!, { provisioning_status: 'PENDING_CREATE' }),
      'at work',
    ],
  ];
  for (const [what, change, is] of others)
    it(`with ${what} are ${is}`, () => assert.equal(compare(known(), tree(change)).is, is));

  it('pools of others may have any members', () => {
    const one = known();
    const foreign = { ...one, pools: one.pools.map((pool) => ({ ...pool, members: undefined, monitor: undefined })) };
    assert.equal(compare(foreign, tree()).is, 'as known');
  });

  it('what is known to be in ERROR may stay so', () => {
    const one = known();
    const failed = { ...one, listeners: one.listeners.map((each) => ({ ...each, status: 'ERROR' })) };
    const there = tree(({ listener }) => void Object.assign(listener!, { provisioning_status: 'ERROR' }));
    assert.equal(compare(failed, there).is, 'as known');
  });

  it('that are none are an error of their own', () => {
    assert.throws(() => readStatusTree({ loadbalancer: {} }, read), { kind: 'Invalid' });
  });
});
