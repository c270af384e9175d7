import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { desired, machine, member, port } from '../../../../test/clouds/aws/fake/machine.ts';
import { keys } from '../load-balancer-annotations.ts';

describe('any sequence of desired states of a Service', () => {
  const annotation = fc.record(
    {
      [keys.proxyProtocol]: fc.constant('*'),
      [keys.idleTimeout]: fc.constantFrom('60', '300', 'never'),
      [keys.drainingEnabled]: fc.constantFrom('true', 'false'),
      [keys.crossZone]: fc.constantFrom('true', 'x'),
      [keys.securityGroups]: fc.constant('sg-persons'),
      [keys.sslCertificate]: fc.constantFrom(
        'arn:aws:acm:eu-west-1:1:certificate/a',
        'arn:aws:acm:eu-west-1:1:certificate/b',
        'bad',
      ),
      [keys.sslPolicy]: fc.constantFrom('P1', 'P2'),
      [keys.sslPorts]: fc.constantFrom('*', '80'),
      [keys.backendProtocol]: fc.constantFrom('http', 'https', 'ssl', 'tcp'),
      [keys.healthProtocol]: fc.constantFrom('TCP', 'HTTP', 'x'),
      [keys.internal]: fc.constantFrom('true', 'false'),
      [keys.subnets]: fc.constantFrom('subnet-a', 'subnet-b', 'subnet-a, subnet-b'),
      [keys.additionalTags]: fc.constantFrom('a=b', 'c=d'),
    },
    { requiredKeys: [] },
  );
  const anyDesired = fc
    .record({
      annotations: annotation.map(
        (fields) =>
          Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Record<
            string,
            string
          >,
      ),
      ports: fc.uniqueArray(fc.constantFrom(80, 81, 443, 8080), { minLength: 1 }),
      shift: fc.constantFrom(0, 1000),
      members: fc.uniqueArray(fc.constantFrom(1, 2, 3, 4)),
      sourceRanges: fc.constantFrom([], ['192.0.2.0/24'], ['192.0.2.0/24', '198.51.100.0/24']),
      mayChangeAddress: fc.boolean(),
      healthPort: fc.constantFrom(10256, 32000),
    })
    .map(({ annotations, ports, shift, members, sourceRanges, mayChangeAddress, healthPort }) =>
      desired({
        annotations,
        sourceRanges,
        mayChangeAddress,
        healthCheck: { port: healthPort, path: '/healthz' },
        ports: ports.map((number) => port(number, 30_000 + number + shift)),
        members: members.map((number) => member(number)),
      }),
    );

  it('converges with members added before others go, and removal keeps what persons created', () =>
    fc.assert(
      fc.asyncProperty(fc.array(anyDesired, { minLength: 1, maxLength: 4 }), async (all) => {
        const persons = ['tcp 22 192.0.2.0/24', '-1 * sg-persons'];
        const { aws, ensure, remove, rulesOfNodes, groups, balancer } = machine({ persons });
        const before = rulesOfNodes();
        const instances = () =>
          ((balancer()?.description['Instances'] ?? []) as { InstanceId: string }[]).map(
            ({ InstanceId }) => InstanceId,
          );
        for (const wanted of all) {
          const ids = wanted.members.map(({ providerID }) => providerID.slice(providerID.lastIndexOf('/') + 1));
          aws.setHook(({ operation }) => {
            if (operation === 'DeleteLoadBalancer') assert.ok(wanted.mayChangeAddress);
            if (operation === 'DeregisterInstancesFromLoadBalancer')
              assert.deepEqual(
                ids.filter((id) => !instances().includes(id)),
                [],
                'all are in before one goes',
              );
            return undefined;
          });
          await ensure(wanted);
          assert.deepEqual((await ensure(wanted)).sent, []);
          if (balancer() !== undefined) assert.deepEqual(instances().toSorted(), ids.toSorted());
        }
        aws.setHook(() => undefined);
        assert.equal((await remove(desired())).observed, undefined);
        assert.deepEqual(rulesOfNodes(), before);
        assert.deepEqual(groups(), ['sg-nodes', 'sg-persons']);
      }),
      { numRuns: 200 },
    ));
});
