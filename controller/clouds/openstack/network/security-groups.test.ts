import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { type NetworkHarness, networkHarness } from '../../../../test/clouds/openstack/network-harness.ts';
import { port } from '../../../../test/clouds/suite/desired.ts';
import { classicGroupDescription, securityGroupName } from '../load-balancers/names.ts';

const monitor = { delay: 5, timeout: 3, maxRetries: 1, maxRetriesDown: 3 };
const only = ({ edge }: NetworkHarness) => {
  const [one, ...more] = edge.groups.values();
  assert.ok(one && more.length === 0, `${edge.groups.size} groups`);
  return one;
};
const ingress = (harness: NetworkHarness) =>
  only(harness)
    .rules.filter(({ fields }) => fields['direction'] === 'ingress')
    .map(({ fields }) => `${fields['protocol']} ${fields['port_range_min']} ${fields['remote_ip_prefix']}`);
const portOf = ({ fake }: NetworkHarness, n: number) => fake.ports.find(({ id }) => id === `port-${n}`)!;
const groupsOn = (harness: NetworkHarness, n: number) => portOf(harness, n).securityGroups ?? [];
const groupCalls = (harness: NetworkHarness) => harness.changes().filter((call) => !call.includes('floating'));

describe('the security group of a Service', () => {
  it('lets the subnet of the members in to the node ports, on every member, beside other groups', async () => {
    const harness = networkHarness(true);
    portOf(harness, 1).securityGroups = ['default'];
    await harness.ensure({}, { monitor });
    const group = only(harness);
    assert.equal(group.name, securityGroupName(harness.desired.owner, harness.desired.service));
    assert.deepEqual(ingress(harness), ['tcp 30080 10.20.0.0/16', 'tcp 10256 10.20.0.0/16']);
    assert.equal(group.rules.filter(({ fields }) => fields['direction'] === 'egress').length, 2);
    assert.deepEqual([groupsOn(harness, 1), groupsOn(harness, 2)], [['default', group.id], [group.id]]);
    assert.deepEqual(groupCalls(harness), [
      'POST /security-groups',
      'POST /security-group-rules',
      'PUT /ports/port-1',
      'PUT /ports/port-2',
    ]);
    await harness.ensure();
    assert.deepEqual(harness.changes(), []);
  });

  it('follows ports and members, and closes only what is not needed any more', async () => {
    const harness = networkHarness(true);
    await harness.ensure();
    harness.changes();
    const [first] = harness.desired.members;
    await harness.ensure({ ports: [port(80, 30081)], members: [first!] });
    assert.deepEqual(ingress(harness), ['tcp 30081 10.20.0.0/16']);
    assert.deepEqual([groupsOn(harness, 1), groupsOn(harness, 2)], [[only(harness).id], []]);
    assert.equal(groupCalls(harness).length, 3);
  });

  it('goes last, from every port, and leaves other groups there', async () => {
    const harness = networkHarness(true);
    portOf(harness, 1).securityGroups = ['default'];
    await harness.ensure();
    harness.changes();
    await harness.remove();
    assert.deepEqual([harness.edge.groups.size, groupsOn(harness, 1), groupsOn(harness, 2)], [0, ['default'], []]);
    const calls = groupCalls(harness);
    assert.deepEqual([calls.length, calls.at(-1)], [3, 'DELETE /security-groups/ID']);
  });

  it('keeps the security group on its ports with a load balancer that is kept', async () => {
    const harness = networkHarness(true);
    await harness.ensure();
    await harness.remove({ retain: true });
    assert.match(only(harness).description, /\[mooring c1 retained\]$/);
    assert.deepEqual(groupsOn(harness, 2), [only(harness).id]);
  });

  it('lets the clients in with provider ovn, since members see them', async () => {
    const harness = networkHarness(true, true);
    await harness.ensure({ sourceRanges: ['192.0.2.0/24', '2001:db8::/32'] });
    assert.deepEqual(ingress(harness), ['tcp 30080 192.0.2.0/24']);
  });

  for (const [what, fields] of [
    ['without a prefix', { remote_ip_prefix: null }],
    ['with a number for its protocol', { protocol: '6' }],
  ] as const) {
    it(`keeps a rule ${what} that lets in the same, and opens new ports beside it`, async () => {
      const harness = networkHarness(true, true);
      await harness.ensure();
      const { rules } = only(harness);
      rules.push({ id: 'theirs', fields: { ...rules.pop()!.fields, ...fields } });
      harness.changes();
      await harness.ensure({ ports: [port(80, 30080), port(443, 30443)] });
      assert.deepEqual(groupCalls(harness), ['POST /security-group-rules']);
      assert.deepEqual(
        rules.slice(2).map((rule) => [rule.id === 'theirs', rule.fields['port_range_min']]),
        [
          [true, 30080],
          [false, 30443],
        ],
      );
    });
  }

  it('replaces a rule for a group of addresses by one that lets everybody in', async () => {
    const harness = networkHarness(true, true);
    await harness.ensure();
    const { rules } = only(harness);
    const fields = { ...rules.pop()!.fields, remote_ip_prefix: null, remote_address_group_id: 'some' };
    rules.push({ id: 'theirs', fields });
    await harness.ensure();
    assert.deepEqual(ingress(harness), ['tcp 30080 0.0.0.0/0']);
    assert.ok(rules.every(({ id }) => id !== 'theirs'));
  });

  it('keeps what others change on a port at the same moment', async () => {
    const harness = networkHarness(true);
    const target = portOf(harness, 1);
    let isChanged = false;
    harness.fake.fault = (call) => {
      if (!isChanged && call.method === 'PUT' && call.path === '/ports/port-1') {
        isChanged = true;
        Object.assign(target, { securityGroups: ['theirs'], revision: 2 });
      }
      return undefined;
    };
    await harness.ensure();
    assert.deepEqual(target.securityGroups, ['theirs', only(harness).id]);
  });

  it('keeps rules and members as they are while a setting is not understood', async () => {
    const harness = networkHarness(true);
    await harness.ensure({}, { monitor });
    harness.changes();
    await harness.ensure({ ports: [port(80, 30081)], members: [] }, { placement: undefined });
    assert.deepEqual(groupCalls(harness), []);
    await harness.ensure({}, { placement: {}, monitor: undefined });
    assert.deepEqual(ingress(harness).toSorted(), [
      'tcp 10256 10.20.0.0/16',
      'tcp 30080 10.20.0.0/16',
      'tcp 30081 10.20.0.0/16',
    ]);
  });

  it('keeps the group on a member without known addresses, and adds it to no unsecured port', async () => {
    const harness = networkHarness(true);
    Object.assign(portOf(harness, 2), { portSecurity: false });
    await harness.ensure();
    assert.deepEqual(groupsOn(harness, 2), []);
    const [first, second] = harness.desired.members;
    await harness.ensure({ members: [{ ...first!, addresses: [] }, second!] });
    assert.deepEqual(groupsOn(harness, 1), [only(harness).id]);
  });

  it('takes over the classic security group with its rules and ports', async () => {
    const harness = networkHarness(true);
    await harness.ensure();
    only(harness).description = classicGroupDescription(harness.desired);
    const [balancer] = harness.balancers.values();
    Object.assign(balancer!, { owner: undefined, name: 'classic' });
    const { id } = only(harness);
    await harness.ensure({ ports: [port(80, 30081)], members: harness.desired.members.slice(1) });
    assert.deepEqual([only(harness).id, ingress(harness)], [id, ['tcp 30081 10.20.0.0/16']]);
    assert.match(only(harness).description, /\[mooring c1 \S+\]$/);
    assert.deepEqual([groupsOn(harness, 1), groupsOn(harness, 2)], [[], [id]]);
    await harness.remove();
    assert.equal(harness.edge.groups.size, 0);
  });

  it('gets its stripped mark back', async () => {
    const harness = networkHarness(true);
    await harness.ensure();
    const { id, description } = only(harness);
    only(harness).description = 'by hand';
    await harness.ensure({ ports: [port(80, 30081)] });
    assert.deepEqual([only(harness).id, only(harness).description], [id, description]);
    assert.deepEqual(ingress(harness), ['tcp 30081 10.20.0.0/16']);
    only(harness).description = '';
    await harness.remove();
    assert.equal(harness.edge.groups.size, 0);
  });

  it('goes with its ports when it is not managed any more', async () => {
    const harness = networkHarness(true);
    await harness.ensure();
    harness.config.manageSecurityGroups = false;
    await harness.ensure();
    assert.deepEqual([harness.edge.groups.size, groupsOn(harness, 1)], [0, []]);
    harness.calls();
    await harness.ensure();
    assert.deepEqual(harness.calls(), ['GET /floatingips', 'GET /security-groups'], 'once after a start');
  });

  it('needs no right to see groups where they are not managed', async () => {
    const harness = networkHarness(false);
    harness.fake.accessRules = harness.fake.accessRules.filter(({ path }) => !path.includes('security-group'));
    await harness.ensure();
    assert.equal(harness.edge.floatingIps.size, 1);
    harness.config.manageSecurityGroups = true;
    await assert.rejects(harness.ensure(), { kind: 'Unauthorized' });
  });

  it('lets in exactly what is asked for, whatever rules were there', async () => {
    const rule = fc.record({
      protocol: fc.constantFrom('tcp', 'udp'),
      port_range_min: fc.constantFrom(30080, 30053, 22),
      remote_ip_prefix: fc.constantFrom('10.20.0.0/16', '0.0.0.0/0'),
    });
    const ports = fc.uniqueArray(fc.constantFrom(port(80, 30080), port(53, 30053, { protocol: 'UDP' })), {
      minLength: 1,
    });
    await fc.assert(
      fc.asyncProperty(
        fc.uniqueArray(rule, { maxLength: 5, selector: (one) => JSON.stringify(one) }),
        ports,
        async (rules, asked) => {
          const harness = networkHarness(true);
          await harness.ensure();
          const held = only(harness).rules;
          held.splice(2);
          for (const [at, one] of rules.entries()) {
            const common = { direction: 'ingress', ethertype: 'IPv4', port_range_max: one.port_range_min };
            held.push({ id: `rule-${at}`, fields: { ...common, ...one } });
          }
          await harness.ensure({ ports: asked });
          const expected = asked.map(({ protocol, nodePort }) => `${protocol.toLowerCase()} ${nodePort} 10.20.0.0/16`);
          assert.deepEqual(ingress(harness).toSorted(), expected.toSorted());
        },
      ),
      { numRuns: 30 },
    );
  });
});
