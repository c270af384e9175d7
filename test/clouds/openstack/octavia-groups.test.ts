import assert from 'node:assert/strict';
import { afterEach, describe, it } from 'node:test';
import { keys } from '../../../controller/clouds/openstack/load-balancers/annotations.ts';
import { memberOf, port } from '../suite/desired.ts';
import { type OctaviaHarness, octaviaHarness, reasons } from './octavia-harness.ts';

const managed = '[LoadBalancer]\nmanage-security-groups = true\n';

describe('the security group of a Service', () => {
  let harness: OctaviaHarness;
  const open = async (config = managed) => {
    harness = await octaviaHarness(config);
    return harness;
  };
  afterEach(() => harness.close());
  const ingress = () =>
    [...harness.edge.groups.values()].flatMap(({ rules }) =>
      rules
        .filter(({ fields }) => fields['direction'] === 'ingress')
        .map(
          ({ fields }) =>
            `${String(fields['protocol'])} ${String(fields['port_range_min'])} ${String(fields['remote_ip_prefix'])}`,
        ),
    );
  const groupsOn = (providerID: string) =>
    harness.fake.ports.find(({ deviceId }) => providerID.endsWith(deviceId))?.securityGroups ?? [];

  it('admits the members’ subnet to the node ports, on every member, and keeps other groups', async () => {
    const { fake, vms } = await open();
    const port0 = fake.ports.find(({ deviceId }) => vms[0]?.providerID.endsWith(deviceId));
    port0!.securityGroups = ['default'];
    await harness.ensure({ annotations: { [keys.healthMonitor]: 'true' } });
    const [group] = harness.edge.groups.values();
    assert.equal(group?.name, `lb-sg-${harness.desired.owner.service}-${harness.desired.service.replace('/', '-')}`);
    assert.deepEqual(ingress(), ['tcp 30080 10.20.0.0/16', 'tcp 10256 10.20.0.0/16']);
    assert.equal(group.rules.filter(({ fields }) => fields['direction'] === 'egress').length, 2);
    assert.deepEqual(groupsOn(vms[0]!.providerID), ['default', group.id]);
    assert.deepEqual(groupsOn(vms[1]!.providerID), [group.id]);
    assert.equal((await harness.ensure()).calls, 0);
  });

  it('admits nothing to the node port of a port that is refused', async () => {
    await open();
    const id = await harness.world.createForeignLoadBalancer('shared', `${harness.world.cluster}/default`);
    const driven = await harness.ensure({
      attach: { id, allowed: false },
      ports: [port(8443, 30443), port(9000, 30900)],
    });
    assert.deepEqual(reasons(driven), ['Conflict']);
    assert.deepEqual(ingress(), ['tcp 30443 10.20.0.0/16']);
  });

  it('goes on admitting what comes from a listener that has lost its tags on a shared load balancer', async () => {
    const { octavia } = await open();
    const id = await harness.world.createForeignLoadBalancer('shared', `${harness.world.cluster}/default`);
    const asked = { attach: { id, allowed: true }, ports: [port(81, 30443), port(9100, 30900)] };
    await harness.ensure(asked);
    const before = ingress();
    assert.equal(before.length, 2);
    const listeners = [...octavia.balancers.values()].flatMap((one) => one.listeners);
    for (const { fields } of listeners) if (fields['protocol_port'] === 81) fields['tags'] = [];
    assert.deepEqual(reasons(await harness.ensure(asked)), ['Conflict']);
    assert.deepEqual(ingress(), before);
  });

  it('follows ports and members, and closes what is not needed any more after what is new', async () => {
    const { vms, fake } = await open();
    await harness.ensure();
    fake.calls.length = 0;
    const { calls } = await harness.ensure({ ports: [port(80, 30081)], members: [memberOf(vms[0]!)] });
    assert.deepEqual(ingress(), ['tcp 30081 10.20.0.0/16']);
    assert.deepEqual(groupsOn(vms[1]!.providerID), []);
    const rules = fake.calls.filter(({ path, method }) => path.startsWith('/security-group-rules') && method !== 'GET');
    assert.deepEqual(
      rules.map(({ method }) => method),
      ['POST', 'DELETE'],
    );
    assert.ok(calls <= 4, `${calls} calls: two rules, a port, and the members of the pool`);
  });

  it('goes last, and from every port', async () => {
    const { vms, edge } = await open();
    await harness.ensure();
    const { calls } = await harness.remove();
    assert.ok(calls <= 5, `${calls} calls: the load balancer, the floating IP, two ports and the group`);
    assert.equal(edge.groups.size, 0);
    for (const { providerID } of vms) assert.deepEqual(groupsOn(providerID), []);
  });

  it('goes, too, when the configuration manages groups no more', async () => {
    await open();
    await harness.ensure();
    const [group] = harness.edge.groups.values();
    const other = await octaviaHarness();
    other.edge.groups.set(group!.id, group!);
    other.desired = {
      ...harness.desired,
      members: other.desired.members,
      owner: { ...harness.desired.owner, cluster: other.world.cluster },
    };
    group!.description = group!.description.replace(harness.world.cluster, other.world.cluster);
    await other.ensure();
    assert.equal(other.edge.groups.size, 0);
    await other.close();
  });

  it('admits the clients with provider ovn, since members see them', async () => {
    const { octavia } = await open(`${managed}lb-provider = ovn\n`);
    octavia.providers.add('ovn');
    const { refusals } = await harness.ensure({ sourceRanges: ['192.0.2.0/24'] });
    assert.deepEqual(refusals, []);
    assert.deepEqual(ingress(), ['tcp 30080 192.0.2.0/24']);
    assert.equal((await harness.ensure()).calls, 0);
  });

  it('keeps a foreign change of the same moment', async () => {
    const { fake, vms } = await open();
    const target = fake.ports.find(({ deviceId }) => vms[0]?.providerID.endsWith(deviceId))!;
    let struck = false;
    fake.fault = (call) => {
      if (!struck && call.method === 'PUT' && call.path === `/ports/${target.id}`) {
        struck = true;
        target.securityGroups = ['theirs'];
        target.revision = (target.revision ?? 1) + 1;
      }
      return undefined;
    };
    await harness.ensure();
    const [group] = harness.edge.groups.values();
    assert.deepEqual(target.securityGroups, ['theirs', group?.id]);
  });
});
