import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type BalancerHarness, createBalancerHarness } from '../../../../test/clouds/huawei/balancer-harness.ts';
import type { FakeSubnet } from '../../../../test/clouds/huawei/fake/fake-balancing.ts';
import { subnet } from '../../../../test/clouds/huawei/fake/fake-huawei.ts';
import { port } from '../../../../test/clouds/suite/desired.ts';
import type { AnnotationName } from '../annotations.ts';

type Place = 'loadbalancers' | 'listeners' | 'pools' | 'healthmonitors' | 'eips';

interface Effect {
  readonly value: string;
  /** Other annotations that it needs. */
  readonly with?: Readonly<Partial<Record<AnnotationName, string>>>;
  readonly in: Place;
  /** Fields as the cloud's API names them. */
  readonly sends: Readonly<Record<string, unknown>>;
}

const certificate = 'a1b2c3d4e5f60718293a4b5c6d7e8f90';
const web = { 'x-forwarded-host': 'true' } as const;
const another: FakeSubnet = {
  ...subnet,
  id: '6a5f3c1e-0a4b-4d2c-9e8f-7b6a5c4d3e2f',
  name: 'front',
  cidr: '192.168.128.0/24',
  neutron: '7a5f3c1e-0a4b-4d2c-9e8f-7b6a5c4d3e2f',
};

/** One for each annotation, so that a new one needs a line here. */
const effects: Readonly<Record<AnnotationName, Effect | 'tested elsewhere'>> = {
  class: { value: 'shared', in: 'loadbalancers', sends: { guaranteed: false } },
  id: 'tested elsewhere',
  'availability-zones': {
    value: 'cn-north-4b;cn-north-4c',
    in: 'loadbalancers',
    sends: { availability_zone_list: ['cn-north-4b', 'cn-north-4c'] },
  },
  'subnet-id': { value: another.id, in: 'loadbalancers', sends: { vip_subnet_cidr_id: another.neutron } },
  'eip-id': 'tested elsewhere',
  'eip-auto-create-option': {
    value: '{"ip_type":"5_sbgp","bandwidth_size":7,"charge_mode":"bandwidth"}',
    in: 'eips',
    sends: { type: '5_sbgp' },
  },
  'keep-eip': 'tested elsewhere',
  'lb-algorithm': { value: 'LEAST_CONNECTIONS', in: 'pools', sends: { lb_algorithm: 'LEAST_CONNECTIONS' } },
  'session-affinity-flag': { value: 'on', in: 'pools', sends: { session_persistence: { type: 'SOURCE_IP' } } },
  'session-affinity-option': {
    value: '{"type":"APP_COOKIE","cookie_name":"sid"}',
    with: { ...web, 'session-affinity-flag': 'on' },
    in: 'pools',
    sends: { session_persistence: { type: 'APP_COOKIE', cookie_name: 'sid' } },
  },
  'health-check-flag': 'tested elsewhere',
  'health-check-option': {
    value: '{"delay":11,"timeout":7,"max_retries":4}',
    in: 'healthmonitors',
    sends: { delay: 11, timeout: 7, max_retries: 4 },
  },
  'enable-transparent-client-ip': {
    value: 'true',
    with: { class: 'shared' },
    in: 'listeners',
    sends: { transparent_client_ip_enable: true },
  },
  'x-forwarded-host': {
    value: 'true',
    in: 'listeners',
    sends: { protocol: 'HTTP', insert_headers: { 'X-Forwarded-Host': true } },
  },
  'default-tls-container-ref': {
    value: certificate,
    in: 'listeners',
    sends: { protocol: 'HTTPS', default_tls_container_ref: certificate },
  },
  'idle-timeout': { value: '77', in: 'listeners', sends: { keepalive_timeout: 77 } },
  'request-timeout': {
    value: '33',
    with: web,
    in: 'listeners',
    sends: { client_timeout: 33, member_timeout: undefined },
  },
  'response-timeout': {
    value: '44',
    with: web,
    in: 'listeners',
    sends: { client_timeout: undefined, member_timeout: 44 },
  },
  'enable-cross-vpc': { value: 'true', in: 'loadbalancers', sends: { ip_target_enable: true } },
  'l4-flavor-id': { value: 'l4.small', in: 'loadbalancers', sends: { l4_flavor_id: 'l4.small' } },
  'l7-flavor-id': { value: 'l7.small', in: 'loadbalancers', sends: { l7_flavor_id: 'l7.small' } },
  'connection-limit': 'tested elsewhere',
};

function only(harness: BalancerHarness, place: Place): Readonly<Record<string, unknown>> {
  const [one, ...others] = harness.world.fake.balancing[place].values();
  assert.ok(one !== undefined && others.length === 0, `${place}: ${others.length} more than one`);
  return one as unknown as Readonly<Record<string, unknown>>;
}

describe('an annotation of Huawei Cloud', () => {
  for (const [name, effect] of Object.entries(effects)) {
    if (effect === 'tested elsewhere') continue;
    it(`reaches the cloud in the fields that mean it: ${name}`, async () => {
      const harness = await createBalancerHarness();
      harness.world.fake.balancing.subnets.push(another);
      const annotations = { ...effect.with, [name]: effect.value };
      await harness.settle({ annotations, ports: [port(443, 30_443)] });
      const sent = only(harness, effect.in);
      for (const [field, value] of Object.entries(effect.sends)) assert.deepEqual(sent[field], value, field);
      await harness.world.close();
    });
  }
});
