import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { after, afterEach, before, describe, it } from 'node:test';
import { answerJson, answerNeutronError, answerNovaFault } from '../../../test/clouds/openstack/fake/answers.ts';
import type { FakeCall, Fault } from '../../../test/clouds/openstack/fake/openstack-state.ts';
import { startWorld, type World } from '../../../test/clouds/openstack/fake/world.ts';
import type { CheckResult } from '../cloud.ts';

const routerId = '00000000-0000-4000-8000-0000000000a1';
const withRouter = `[Route]\nrouter-id = ${routerId}\n`;
const withoutBalancers = '[LoadBalancer]\nenabled = false\n';
const failed = (results: readonly CheckResult[]) => results.filter(({ ok }) => ok === false).map(({ name }) => name);

/** What Octavia and Neutron say to a check where everything is allowed. */
function allowing({ service, path, method }: FakeCall, response: ServerResponse): 'answered' | undefined {
  if (service === 'load-balancer' && method === 'GET') return answerJson(response, 200, { loadbalancers: [] });
  if (service === 'load-balancer')
    return answerJson(response, 400, {
      faultcode: 'Client',
      faultstring: 'Validation failure: VIP must contain one of',
    });
  if (path !== '/floatingips') return undefined;
  if (method === 'GET') return answerJson(response, 200, { floatingips: [] });
  return answerNeutronError(response, 404, 'NetworkNotFound', 'Network x could not be found.');
}

describe('check of an OpenStack', () => {
  let world: World;
  before(async () => {
    world = await startWorld();
  });
  after(() => world.end());
  afterEach(() => {
    world.reset();
    world.fake.more.length = 0;
  });
  const check = async (extra: string, answer: Fault = allowing) => {
    world.fake.fault = (call, response) => (call.service === 'identity' ? undefined : answer(call, response));
    return (await world.open({}, extra)).check();
  };
  const setUpRouter = () => {
    world.add(1);
    world.fake.ports[0]!.pairs = [{ ip_address: '10.244.1.0/24' }];
    world.fake.routers.set(routerId, {
      id: routerId,
      routes: [{ destination: '10.9.0.0/24', nexthop: '10.20.0.9' }],
      revision: 4,
    });
    world.fake.networks.set('net-1', 'k8s-net');
    world.fake.subnets.push({ id: 's1', networkId: 'net-1', cidr: '10.20.0.0/16' });
    world.fake.ports.push({
      id: 'rp',
      deviceId: routerId,
      networkId: 'net-1',
      ips: ['10.20.0.1'],
      deviceOwner: 'network:router_interface',
    });
  };

  it('proves the token, the endpoints, each read and each kind of write, and changes nothing', async () => {
    for (const atomic of [true, false]) {
      setUpRouter();
      if (!atomic) world.fake.extensions.splice(world.fake.extensions.indexOf('extraroute-atomic'), 1);
      const before = JSON.stringify([...world.fake.routers.values(), world.fake.ports]);
      const results = await check(withRouter);
      assert.deepEqual(failed(results), []);
      assert.deepEqual(
        results.map(({ name }) => name),
        [
          'credentials',
          'compute endpoint',
          'network endpoint',
          'load-balancer endpoint',
          'GET /servers/detail',
          'GET /flavors',
          'GET /ports',
          `GET /routers/${routerId}`,
          'GET /lbaas/loadbalancers',
          'GET /floatingips',
          'GET /subnets',
          'change routes of the router',
          'change address pairs of ports',
          'make load balancers',
          'make floating IPs',
          'other changes',
        ],
      );
      assert.equal(results.at(-1)?.ok, null);
      assert.equal(JSON.stringify([...world.fake.routers.values(), world.fake.ports]), before);
      const writes = world.fake.calls.filter(({ method, service }) => method !== 'GET' && service !== 'identity');
      assert.equal(writes.length, 4);
      world.reset();
    }
    world.fake.extensions.push('extraroute-atomic');
  });

  it('a write of the same that meets a change since is refused by Neutron, and that will do', async () => {
    setUpRouter();
    const results = await check(withRouter, (call, response) => {
      if (call.method === 'PUT' && call.path.startsWith('/ports/')) world.fake.ports[0]!.pairs = [];
      return allowing(call, response);
    });
    assert.deepEqual(failed(results), []);
    assert.deepEqual(world.fake.ports[0]?.pairs, []);
  });

  it('leaves out what is not configured', async () => {
    const results = await check(withoutBalancers);
    assert.deepEqual(
      results.map(({ name }) => name),
      ['credentials', 'compute endpoint', 'network endpoint', 'GET /servers/detail', 'GET /flavors', 'GET /ports'],
    );
    assert.ok(world.fake.calls.slice(1).every(({ query }) => query.get('limit') === '1'));
    const groups = await check('[LoadBalancer]\nmanage-security-groups = true\n', (call, response) =>
      call.path === '/security-groups' ? answerJson(response, 200, { security_groups: [] }) : allowing(call, response),
    );
    assert.ok(groups.some(({ name, ok }) => name === 'GET /security-groups' && ok));
  });

  const denials: [string, (call: FakeCall) => boolean, RegExp][] = [
    ['GET /servers/detail', ({ path }) => path === '/servers/detail', /403 .*policy os_compute_api:servers:detail/],
    [
      'GET /lbaas/loadbalancers',
      ({ path, method }) => path === '/lbaas/loadbalancers' && method === 'GET',
      /role load-balancer_member/,
    ],
    [
      'make load balancers',
      ({ path, method }) => path === '/lbaas/loadbalancers' && method === 'POST',
      /role load-balancer_member/,
    ],
    [
      'make floating IPs',
      ({ path, method }) => path === '/floatingips' && method === 'POST',
      /policy create_floatingip/,
    ],
    [
      'change routes of the router',
      ({ path }) => path.endsWith('/add_extraroutes'),
      /policy update_router, add_extraroutes/,
    ],
    [
      'change address pairs of ports',
      ({ path, method }) => path.startsWith('/ports/') && method === 'PUT',
      /policy update_port:allowed/,
    ],
  ];
  for (const [name, denied, message] of denials) {
    it(`names what ${name} wants where it is forbidden, and nothing else`, async () => {
      setUpRouter();
      const results = await check(withRouter, (call, response) =>
        denied(call) ? answerNovaFault(response, 403, 'forbidden', "Policy doesn't allow") : allowing(call, response),
      );
      assert.deepEqual(failed(results), [name]);
      assert.match(results.find((result) => !result.ok)?.message ?? '', message);
    });
  }

  it('asks for another time, and for no policy, while a service is down', async () => {
    const results = await check('', (call, response) =>
      call.path === '/flavors' ? answerNovaFault(response, 503, 'unavailable', 'down') : allowing(call, response),
    );
    const flavors = results.find(({ name }) => name === 'GET /flavors');
    assert.equal(flavors?.ok, false);
    assert.match(flavors.message, /try again later$/);
    assert.doesNotMatch(flavors.message, /policy/);
  });

  it('a path that is not there is not taken for a permission', async () => {
    setUpRouter();
    const results = await check(withRouter, (call, response) =>
      call.path === '/floatingips' && call.method === 'POST'
        ? answerNeutronError(response, 404, 'HTTPNotFound', 'The resource could not be found.')
        : allowing(call, response),
    );
    assert.deepEqual(failed(results), ['make floating IPs']);
  });

  it('a cloud without Octavia is told what to configure', async () => {
    const [endpoints] = world.fake.catalog as [unknown];
    const whole = world.fake.catalog;
    world.fake.catalog = (whole as { type: string }[]).filter(({ type }) => type !== 'load-balancer');
    assert.ok(endpoints);
    const results = await check('');
    assert.match(
      results.find(({ name }) => name === 'load-balancer endpoint')?.message ?? '',
      /enabled = false in \[LoadBalancer\]/,
    );
    world.fake.catalog = whole;
  });
});
