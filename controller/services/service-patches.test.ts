import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { annotations, finalizers } from '../../common/well-known.ts';
import { ingressOf, type ServiceChange, sameIngress, servicePatch } from './service-patches.ts';
import { exampleService, finalized, recorded } from './testing/example-service.ts';

const nowMs = Date.parse('2026-05-01T12:00:00.123Z');
const vip = { ip: '192.0.2.1', ipMode: 'VIP' };
const shown = (...ingress: object[]) => ({ loadBalancer: { ingress } });
const record = { record: 's lb-1' } as const;
const classic = 'classic.example.com/v1';

function patch(service: Parameters<typeof exampleService>[0], change: ServiceChange): unknown {
  return servicePatch(exampleService(service, undefined, [classic]), change, nowMs);
}

describe('a patch of a Service', () => {
  for (const [what, service, change, expected] of [
    ['adds the finalizer', {}, { finalizer: 'add' }, { metadata: { resourceVersion: '100', ...finalized } }],
    [
      'adds it beside others',
      { metadata: { finalizers: ['a.b/c'] } },
      { finalizer: 'add' },
      { metadata: { resourceVersion: '100', ...finalized } },
    ],
    ['adds none where it is', { metadata: finalized }, { finalizer: 'add' }, undefined],
    [
      'takes the finalizer off',
      { metadata: { finalizers: ['a.b/c', finalizers.loadBalancerCleanup] } },
      { finalizer: 'remove' },
      {
        metadata: {
          resourceVersion: '100',
          '$deleteFromPrimitiveList/finalizers': [finalizers.loadBalancerCleanup],
        },
      },
    ],
    ['takes none off where there is none', {}, { finalizer: 'remove' }, undefined],
    [
      'takes it off with that of the classic controller',
      { metadata: { finalizers: ['a.b/c', finalizers.loadBalancerCleanup, classic] } },
      { finalizer: 'removeAll' },
      {
        metadata: {
          resourceVersion: '100',
          '$deleteFromPrimitiveList/finalizers': [finalizers.loadBalancerCleanup, classic],
        },
      },
    ],
    [
      'leaves the finalizer of the classic controller',
      { metadata: { finalizers: [classic] } },
      { finalizer: 'remove' },
      undefined,
    ],
    [
      'writes a record',
      {},
      record,
      { metadata: { resourceVersion: '100', annotations: { [annotations.loadBalancer]: 's lb-1' } } },
    ],
    ['writes no record twice', { metadata: recorded('s lb-1') }, record, undefined],
    [
      'forgets a record',
      { metadata: recorded('s lb-1') },
      { record: null },
      { metadata: { resourceVersion: '100', annotations: { [annotations.loadBalancer]: null } } },
    ],
    ['forgets no record twice', {}, { record: null }, undefined],
    [
      'shows an address',
      {},
      { ingress: [vip] },
      { metadata: { resourceVersion: '100' }, status: { loadBalancer: { ingress: [vip] } } },
    ],
    ['shows no address twice', { status: shown(vip) }, { ingress: [{ ip: '192.0.2.1' }] }, undefined],
    [
      'hides an address',
      { status: shown(vip) },
      { ingress: [] },
      { metadata: { resourceVersion: '100' }, status: { loadBalancer: { ingress: null } } },
    ],
    ['hides no address twice', {}, { ingress: [] }, undefined],
    [
      'writes where the load balancer stands as a condition',
      {},
      { condition: { reason: 'Ensured', message: 'fine' } },
      {
        metadata: { resourceVersion: '100' },
        status: {
          conditions: [
            {
              type: 'CloudLoadBalancer',
              status: 'True',
              reason: 'Ensured',
              message: 'fine',
              lastTransitionTime: '2026-05-01T12:00:00Z',
            },
          ],
        },
      },
    ],
    ['takes back no condition that is not there', {}, { condition: null }, undefined],
  ] as const satisfies readonly (readonly [string, Parameters<typeof exampleService>[0], ServiceChange, unknown])[]) {
    it(what, () => {
      assert.deepEqual(patch(service, change), expected);
    });
  }

  const condition = {
    type: 'CloudLoadBalancer',
    status: 'True',
    reason: 'Ensured',
    message: 'fine',
    lastTransitionTime: '2026-01-01T00:00:00Z',
  };

  it('moves the time of a condition only with its status', () => {
    const held = { status: { conditions: [condition] } };
    const told = patch(held, { condition: { reason: 'MembersRefused', message: 'n1' } });
    assert.match(JSON.stringify(told), /2026-01-01T00:00:00Z/);
    const flipped = patch(held, { condition: { reason: 'AwaitingCloud', message: 'no' } });
    assert.match(JSON.stringify(flipped), /2026-05-01T12:00:00Z/);
    assert.equal(patch(held, { condition: { reason: 'Ensured', message: 'fine' } }), undefined);
    assert.deepEqual(patch(held, { condition: null }), {
      metadata: { resourceVersion: '100' },
      status: { conditions: [{ type: 'CloudLoadBalancer', $patch: 'delete' }] },
    });
  });

  it('cuts messages, and is not written again for what it cut', () => {
    const message = 'x'.repeat(2000);
    const cut = { ...condition, message: `${message.slice(0, 511)}…` };
    assert.equal(patch({ status: { conditions: [cut] } }, { condition: { reason: 'Ensured', message } }), undefined);
  });

  it('never touches the spec, and always names the version', () => {
    const change: ServiceChange = {
      finalizer: 'add',
      ...record,
      ingress: [vip],
      condition: { reason: 'Ensured', message: '' },
    };
    const body = patch({}, change) as { metadata: { resourceVersion: string } };
    assert.deepEqual(Object.keys(body).sort(), ['metadata', 'status']);
    assert.equal(body.metadata.resourceVersion, '100');
  });
});

describe('the ingress in the status', () => {
  const service = exampleService({ spec: { ports: [{ port: 80 }, { port: 53, protocol: 'UDP' }] } });

  it('shows a mode only where there is an IP, and every port', () => {
    assert.deepEqual(
      ingressOf(
        service,
        [
          { ip: '192.0.2.1', ipMode: 'Proxy' },
          { hostname: 'a.example', ipMode: 'Proxy' },
        ],
        new Map([['UDP/53', 'mooring.dev/Unsupported']]),
      ),
      [
        {
          ip: '192.0.2.1',
          ipMode: 'Proxy',
          ports: [
            { port: 80, protocol: 'TCP' },
            { port: 53, protocol: 'UDP', error: 'mooring.dev/Unsupported' },
          ],
        },
        {
          hostname: 'a.example',
          ports: [
            { port: 80, protocol: 'TCP' },
            { port: 53, protocol: 'UDP', error: 'mooring.dev/Unsupported' },
          ],
        },
      ],
    );
  });

  it('equals itself by address, mode and ports', () => {
    const one = { ip: '192.0.2.1', ipMode: 'VIP', ports: [{ port: 80, protocol: 'TCP' }] };
    assert.equal(sameIngress([one], [{ ...one }]), true);
    for (const other of [
      { ...one, ip: '192.0.2.2' },
      { ...one, ipMode: 'Proxy' },
      { ...one, ports: [] },
      { ...one, ports: [{ port: 80, protocol: 'TCP', error: 'x' }] },
      { hostname: '192.0.2.1', ports: one.ports },
    ])
      assert.equal(sameIngress([one], [other]), false);
    assert.equal(sameIngress([one], [one, one]), false);
    assert.equal(sameIngress([], []), true);
  });

  it('patches nothing where the wanted ingress is stored already', () => {
    const ip = fc.record({ ip: fc.ipV4(), ipMode: fc.constantFrom('VIP', 'Proxy', undefined) });
    fc.assert(
      fc.property(fc.array(fc.oneof(ip, fc.record({ hostname: fc.domain() })), { maxLength: 3 }), (list) => {
        const wanted = ingressOf(service, list as Parameters<typeof ingressOf>[1]);
        const stored = exampleService({ status: shown(...wanted) });
        assert.equal(servicePatch(stored, { ingress: wanted }, nowMs), undefined);
      }),
    );
  });
});
