import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  type BalancerHarness,
  classicName,
  createBalancerHarness,
  type HarnessOptions,
  labelsFor,
  type More,
  owner,
} from '../../../../test/clouds/hetzner/balancer-harness.ts';
import { port } from '../../../../test/clouds/suite/desired.ts';
import { faults, type Hit } from '../../../engine/testing/environment.ts';
import type { DesiredLoadBalancer } from '../../load-balancers.ts';
import { kindNames } from './balancer.ts';

interface Stage {
  readonly desired: DesiredLoadBalancer | undefined;
  readonly more?: More;
  /** Of the load balancer: ports, targets, networks. Undefined: there is none of ours. */
  readonly leaves: string | undefined;
}

interface Life {
  /** Kinds of which something is made, changed or removed. */
  readonly kinds: readonly string[];
  readonly options?: HarnessOptions;
  prepare?(harness: BalancerHarness): void;
  stages(harness: BalancerHarness): readonly Stage[];
}

const { balancer, claim, network, service, target, certificate, dedicated } = kindNames;

const lives: Readonly<Record<string, Life>> = {
  'made, changed and deleted': {
    kinds: [balancer, service, target],
    stages: (harness) => [
      { desired: harness.desired(), leaves: '80>30080 443>30443 | server server | ' },
      {
        desired: harness.desired({
          ports: [port(80, 30081), port(8080, 30808)],
          members: harness.members.slice(1),
          annotations: { 'algorithm-type': 'least_connections', type: 'lb21', 'ipv4-rdns': 'web.example.com' },
        }),
        leaves: '80>30081 8080>30808 | server | ',
      },
      { desired: undefined, leaves: undefined },
    ],
  },
  'in a network with an address of its own': {
    kinds: [balancer, network, target],
    options: { network: 'nodes' },
    stages: (harness) => [
      {
        desired: harness.desired({ annotations: { 'use-private-ip': 'true' } }),
        leaves: '80>30080 443>30443 | private server private server | 10.0.0.4',
      },
      {
        desired: harness.desired({ annotations: { 'private-ipv4': '10.0.0.99' } }),
        more: { mayChangeAddress: true },
        leaves: '80>30080 443>30443 | server server | 10.0.0.99',
      },
      { desired: undefined, leaves: undefined },
    ],
  },
  'with a managed certificate whose domains change': {
    kinds: [balancer, service, certificate],
    stages: (harness) => {
      const annotations = { protocol: 'https', 'certificate-type': 'managed' };
      const domains = 'http-managed-certificate-domains';
      const web = (names: string) => harness.desired({ annotations: { ...annotations, [domains]: names } });
      return [
        { desired: web('a.example.com'), leaves: 'https 80>30080 https 443>30443 | server server | ' },
        { desired: web('b.example.com'), leaves: 'https 80>30080 https 443>30443 | server server | ' },
        { desired: undefined, leaves: undefined },
      ];
    },
  },
  'moved to another location': {
    kinds: [balancer, service, target],
    stages: (harness) => [
      { desired: harness.desired(), leaves: '80>30080 443>30443 | server server | ' },
      {
        desired: harness.desired({ annotations: { location: 'nbg1' } }),
        more: { mayChangeAddress: true },
        leaves: '80>30080 443>30443 | server server | ',
      },
    ],
  },
  'of others, used and given back': {
    kinds: [claim, service, target],
    prepare: (harness) =>
      void harness.addBalancer('theirs', { labels: { 'mooring.dev/attachable-by': owner.cluster, team: 'x' } }),
    stages: (harness) => {
      const attach = { id: String(harness.balancer('theirs').id), allowed: true };
      return [
        { desired: harness.desired({ attach }), leaves: '80>30080 443>30443 | server server | ' },
        { desired: harness.desired({ attach, ports: [port(80, 30080)] }), leaves: '80>30080 | server server | ' },
        { desired: undefined, leaves: undefined },
      ];
    },
  },
  'of the classic controller, taken over': {
    kinds: [balancer, service, target],
    prepare: (harness) => void harness.addClassic(),
    stages: (harness) => [
      {
        desired: harness.desired({ ports: [port(80, 30080)] }),
        more: { adopt: [harness.balancer(classicName).ipv4] },
        leaves: '80>30080 | server server | ',
      },
      { desired: undefined, leaves: undefined },
    ],
  },
  'kept when its Service goes': {
    kinds: [balancer],
    stages: (harness) => [
      { desired: harness.desired(), leaves: '80>30080 443>30443 | server server | ' },
      { desired: undefined, more: { retain: true }, leaves: undefined },
    ],
  },
  'with dedicated servers': {
    kinds: [balancer, target, dedicated],
    options: { dedicated: new Map([['321', '203.0.113.21']]) },
    prepare(harness) {
      const fields = { server_name: 'metal', server_ip: '203.0.113.21', server_number: 321 };
      harness.fake.dedicated.set(321, fields as never);
    },
    stages: (harness) => {
      const metal = { node: 'metal', providerID: 'hrobot://321', addresses: ['10.9.0.1'], zone: '', draining: false };
      return [
        {
          desired: harness.desired({ members: [...harness.members, metal] }),
          leaves: '80>30080 443>30443 | server server ip | ',
        },
        { desired: harness.desired(), leaves: '80>30080 443>30443 | server server | ' },
      ];
    },
  },
};

/** What a load balancer of ours, or one that we use, has. */
function told({ fake }: BalancerHarness): string | undefined {
  const ours = [...fake.balancers.values()].filter(
    ({ labels }) =>
      labels['mooring.dev/service-uid'] === owner.service && labels['mooring.dev/cluster'] === owner.cluster,
  );
  assert.ok(ours.length < 2, `${ours.length} load balancers`);
  return ours.map(({ services, targets, privateNets }) =>
    [
      services.map((one) => {
        const shown = `${one.listen_port}>${one.destination_port}`;
        return one.protocol === 'tcp' ? shown : `${one.protocol} ${shown}`;
      }),
      targets.map(({ type, use_private_ip }) => (use_private_ip ? `private ${type}` : type)),
      privateNets.map(({ ip }) => ip),
    ]
      .map((list) => [...list].sort((a, b) => Number.parseInt(a, 10) - Number.parseInt(b, 10)).join(' '))
      .join(' | '),
  )[0];
}

/** Plays a life; with a fault in one of its stages. Answers calls and permits of each stage. */
async function play(life: Life, lagMs: number, at?: { readonly stage: number; readonly hit: Hit }) {
  const harness = createBalancerHarness({ ...life.options, lagMs });
  const { fake } = harness;
  harness.addBalancer('foreign', { labels: labelsFor('other') });
  harness.addBalancer('alien', { labels: labelsFor(owner.service, 'shop/web', 'another-cluster') });
  life.prepare?.(harness);
  const foreign = () => ['foreign', 'alien'].map((name) => JSON.stringify(harness.balancer(name)));
  const before = foreign();
  const counts: { readonly calls: number; readonly permits: number }[] = [];
  for (const [stage, { desired, more, leaves }] of life.stages(harness).entries()) {
    const hit = at?.stage === stage ? at.hit : undefined;
    const { result, ...counted } = await harness.converge(desired, hit, more);
    const what = `stage ${stage} ${JSON.stringify(hit)}`;
    assert.equal(result?.state, 'settled', `${what}: ${JSON.stringify(result?.refusals)} ${String(result?.errors)}`);
    counts.push(counted);
    const ours = JSON.stringify([...fake.balancers.values()]);
    harness.restart();
    await harness.clock.advance(60_000);
    const again = await harness.converge(desired, undefined, more);
    assert.equal(again.result?.state, 'settled', `${what}: again`);
    if (desired !== undefined) assert.equal(again.permits, 0, `${what}: a restart writes`);
    assert.equal(JSON.stringify([...fake.balancers.values()]), ours, `${what}: a restart changes`);
    assert.equal(told(harness), leaves, what);
    assert.deepEqual(foreign(), before, `${what}: foreign things`);
    if (desired === undefined) assert.equal(fake.certificates.size, 0, `${what}: certificates`);
  }
  return { harness, counts };
}

describe('a load balancer of Hetzner Cloud', () => {
  it('plays a life for each kind of resource', () => {
    const played = new Set(Object.values(lives).flatMap(({ kinds }) => kinds));
    assert.deepEqual([...played].sort(), Object.values(kindNames).sort());
  });

  for (const [name, life] of Object.entries(lives)) {
    for (const lagMs of [0, 4000]) {
      const lists = lagMs === 0 ? '' : ' while lists lag';
      it(`${name}, comes to the same end with a fault or a crash at every call and every permit${lists}`, async () => {
        const { counts } = await play(life, lagMs);
        for (const [stage, { calls, permits }] of counts.entries()) {
          for (const fault of faults) {
            const isAtPermit = fault === 'withheld' || fault === 'crash at permit';
            for (let at = 0; at < (isAtPermit ? permits : calls); at += 1)
              await play(life, lagMs, { stage, hit: { at, fault } });
          }
        }
      });
    }
  }
});
