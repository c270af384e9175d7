import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { desired, machine, member, plainConfig, port } from '../../../../test/clouds/aws/fake/classic/machine.ts';
import { factsOf, group } from '../../../../test/clouds/aws/fake/network-facts.ts';
import { ownerTags } from '../../load-balancers.ts';
import { keys } from '../load-balancer-annotations.ts';
import { ownGroupIn } from './observed.ts';
import { planClassicRemoval } from './removal.ts';

describe('the plan of a classic load balancer', () => {
  it('makes the group that tells whose it is first, and lets the nodes in last', async () => {
    const { ensure, sent } = machine();
    await ensure(desired(), undefined);
    assert.deepEqual(sent, [
      'create security group',
      'authorize ingress',
      'create security group',
      'CreateLoadBalancer',
      'ConfigureHealthCheck',
      'RegisterInstancesWithLoadBalancer',
      'authorize ingress',
    ]);
  });

  it('is told in full before anything is there', () => {
    const { plan } = machine();
    assert.deepEqual(
      plan(desired(), undefined).steps.map(({ action, resource }) => `${action} ${resource}`),
      ['create security group', 'update security group rules', 'create security group', 'create load balancer'],
    );
  });

  it('takes a member in before it lets one go', async () => {
    const { ensure, sent } = machine();
    const observed = await ensure(desired(), undefined);
    const from = sent.length;
    await ensure(desired({ members: [member(2), member(3)] }), observed);
    assert.deepEqual(sent.slice(from), ['RegisterInstancesWithLoadBalancer', 'DeregisterInstancesFromLoadBalancer']);
  });

  it('neither adds nor removes a member that is known by its id alone', async () => {
    const { ensure, plan } = machine();
    const observed = await ensure(desired({ members: [member(1)] }), undefined);
    const members = [member(1, { addresses: [], node: '' }), member(9, { addresses: [], node: '' })];
    assert.deepEqual(plan(desired({ members }), observed).steps, []);
  });

  it('names a member of another place, and goes on without it', async () => {
    const { plan } = machine();
    const { refusals, steps } = plan(
      desired({ members: [member(1), member(2, { providerID: 'gce://p/z/n' })] }),
      undefined,
    );
    assert.match(refusals[0]?.message ?? '', /member n2: providerID "gce:\/\/p\/z\/n" is of another place/);
    assert.ok(steps.length > 0);
  });

  it('adds a new port before it changes and deletes others', async () => {
    const { ensure, sent } = machine();
    const observed = await ensure(desired({ ports: [port(80), port(81), port(82)] }), undefined);
    const from = sent.length;
    await ensure(desired({ ports: [port(80), port(81, 30_999), port(443)] }), observed);
    assert.deepEqual(
      sent.slice(from).filter((operation) => operation.includes('Listener')),
      [
        'CreateLoadBalancerListeners',
        'DeleteLoadBalancerListeners',
        'CreateLoadBalancerListeners',
        'DeleteLoadBalancerListeners',
      ],
    );
  });

  it('leaves what a person has set where it asks for nothing', async () => {
    const { ensure, plan } = machine();
    const observed = await ensure(desired(), undefined);
    const balancer = observed?.pieces.balancer;
    assert.ok(observed && balancer);
    const theirs = {
      ...balancer,
      attributes: {
        draining: { enabled: false, timeout: 300 },
        accessLog: { enabled: false, emitInterval: 60 },
        idleTimeout: 60,
        crossZone: false,
      },
    };
    assert.deepEqual(plan(desired(), { ...observed, pieces: { ...observed.pieces, balancer: theirs } }).steps, []);
  });

  it('does nothing to one that is not ours', async () => {
    const { ensure, plan } = machine();
    const observed = await ensure(desired(), undefined);
    assert.ok(observed?.pieces.balancer);
    const foreign = { ...observed.pieces, isOurs: false, balancer: { ...observed.pieces.balancer, tags: {} } };
    const { steps, refusals } = plan(desired(), { ...observed, pieces: foreign });
    assert.deepEqual(steps, []);
    assert.deepEqual(
      refusals.map(({ reason }) => reason),
      ['ForeignLoadBalancer'],
    );
  });

  it('with a shared group of the cloud config: makes none, and lets it in to the ports of the Service alone', async () => {
    const { ensure, groups, rulesOfNodes, remove } = machine(['tcp 22 192.0.2.0/24'], {
      ...plainConfig,
      elbSecurityGroup: 'sg-persons',
    });
    const observed = await ensure(desired(), undefined);
    assert.deepEqual(groups(), ['sg-nodes', 'sg-persons']);
    assert.deepEqual(rulesOfNodes(), [
      'tcp 22 192.0.2.0/24',
      'tcp 30080 sg-persons',
      'tcp 10256 sg-persons',
      'icmp 3 sg-persons',
    ]);
    assert.equal(await remove(observed), undefined);
    assert.deepEqual(rulesOfNodes(), ['tcp 22 192.0.2.0/24']);
  });

  it('with DisableSecurityGroupIngress: the groups of the nodes are a matter of persons', async () => {
    const { ensure, rulesOfNodes, sent } = machine([], { ...plainConfig, disableSecurityGroupIngress: true });
    await ensure(desired(), undefined);
    assert.deepEqual(rulesOfNodes(), []);
    assert.equal(sent.filter((call) => call === 'create security group').length, 1);
  });

  it('what is retained loses our tags, its own last, and keeps its groups and rules', async () => {
    const { ensure, remove, groups, sent } = machine();
    const observed = await ensure(desired(), undefined);
    const [before, from] = [groups(), sent.length];
    // Tags of groups are the business of their calls.
    const steps = planClassicRemoval(observed!, true).steps.map(({ call }) =>
      call.does === 'change security groups' ? call.call.does : call.does,
    );
    assert.deepEqual(steps, ['tag security group', 'untag security group', 'add tags', 'remove tags']);
    assert.deepEqual(groups(), before);
    assert.equal(sent.length, from);
    await remove(observed);
    assert.deepEqual(groups(), ['sg-nodes', 'sg-persons']);
  });

  it('names a subnet that is none: nothing is made there, and one that stands goes on where it is', async () => {
    const { ensure, plan } = machine();
    const nowhere = desired({ annotations: { [keys.subnets]: 'subnet-nowhere' } });
    await assert.rejects(ensure(nowhere, undefined), {
      kind: 'Invalid',
      message: /"subnet-nowhere" is no subnet of the VPC/,
    });
    const other = machine();
    const observed = await other.ensure(desired(), undefined);
    const { steps, refusals } = plan(nowhere, observed);
    assert.deepEqual(steps, []);
    assert.match(refusals[0]?.message ?? '', /subnets: "subnet-nowhere"/);
  });

  it('makes a group of its own beside one that another kind of load balancer of this Service has left', async () => {
    const { ensure, remove, groups } = machine();
    const left = group('sg-left', {
      name: 'k8s-default-web-0123456789',
      tags: { [ownerTags.cluster]: 'uid-c', [ownerTags.service]: 'uid-s' },
    });
    const observed = await ensure(desired(), undefined);
    assert.ok(observed);
    const facts = { ...observed.pieces.facts, groups: new Map(observed.pieces.facts.groups).set(left.id, left) };
    const pieces = { ...observed.pieces, facts };
    assert.equal(ownGroupIn(pieces)?.name, 'k8s-elb-a1');
    assert.equal(ownGroupIn({ ...pieces, facts: factsOf([left]) }), undefined);
    await remove(observed);
    assert.deepEqual(groups(), ['sg-nodes', 'sg-persons']);
  });

  it('tags say whose it is, and what a person asks to add', async () => {
    const { ensure } = machine();
    const observed = await ensure(desired({ annotations: { [keys.additionalTags]: 'team=x' } }), undefined);
    const tags = observed?.pieces.balancer?.tags ?? {};
    assert.equal(tags[ownerTags.service], 'uid-s');
    assert.equal(tags['kubernetes.io/service-name'], 'default/web');
    assert.deepEqual([tags['kubernetes.io/cluster/c1'], tags['team']], ['owned', 'x']);
  });
});
