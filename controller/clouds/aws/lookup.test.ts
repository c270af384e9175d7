import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { answerError, running } from '../../../test/clouds/aws/fake/fake-ec2.ts';
import {
  id,
  lookupHarness,
  named,
  providerID,
  ref,
  states,
  summary,
} from '../../../test/clouds/aws/fake/lookup-harness.ts';

describe('looking up instances on AWS', () => {
  const harness = lookupHarness();

  it('finds many instances by one filter call each 200, signed for the region', async () => {
    const numbers = Array.from({ length: 401 }, (_, n) => n);
    harness.add(...numbers);
    const cloud = await harness.openCloud();
    const lookups = await cloud.instances.lookup(numbers.map(ref));
    assert.equal(lookups.size, 401);
    assert.ok([...lookups.values()].every((lookup) => summary(lookup) === 'found running by list'));
    assert.deepEqual(
      harness
        .describes()
        .map(({ filters }) => filters.get('instance-id')?.length)
        .toSorted(),
      [1, 200, 200],
    );
    assert.ok(harness.ec2.calls.every(({ authorization }) => authorization.includes('/eu-west-1/ec2/aws4_request')));
    assert.ok(harness.calls.some(({ operation, code }) => operation === 'DescribeInstances' && code === 'ok'));
  });

  it('follows the pages of a filter', async () => {
    harness.add(1, 2, 3, 4, 5);
    harness.ec2.pageSize = 2;
    const lookups = await (await harness.openCloud()).instances.lookup([1, 2, 3, 4, 5].map(ref));
    assert.deepEqual(states(lookups), Array(5).fill('found running by list'));
    assert.equal(harness.describes().length, 3);
  });

  it('shows the power state, and a terminated instance is gone', async () => {
    const table: [string, string][] = [
      ['pending', 'found changing by list'],
      ['running', 'found running by list'],
      ['stopping', 'found changing by list'],
      ['shutting-down', 'found changing by list'],
      ['stopped', 'found stopped by list'],
      ['terminated', 'gone'],
    ];
    for (const [n, [state]] of table.entries()) harness.ec2.instances.set(id(n), running(id(n), { state }));
    harness.ec2.instances.set(id(99), running(id(99), { state: undefined }));
    const lookups = await (await harness.openCloud()).instances.lookup([...table.keys(), 99].map(ref));
    assert.deepEqual(states(lookups), [...table.map(([, expected]) => expected), 'unknown Invalid']);
  });

  it("finds the cluster's instance for a name that two VPCs give out", async () => {
    const privateDnsName = 'ip-10-0-0-4.eu-west-1.compute.internal';
    const tags = (cluster: string) => ({ [`kubernetes.io/cluster/${cluster}`]: 'owned' });
    harness.ec2.instances.set(id(1), running(id(1), { privateDnsName, tags: tags('one') }));
    harness.ec2.instances.set(id(2), running(id(2), { privateDnsName, tags: tags('two') }));
    const found = async (text?: string) => {
      const cloud = await harness.openCloud({}, text);
      const lookup = [...(await cloud.instances.lookup([named(privateDnsName)])).values()][0]!;
      return lookup.state === 'found' ? lookup.instance.id : summary(lookup);
    };
    assert.equal(await found('[Global]\nKubernetesClusterID = two\n'), id(2));
    assert.equal(await found(), 'unknown Conflict');
    harness.ec2.instances.delete(id(2));
    assert.equal(await found('[Global]\nKubernetesClusterID = two\n'), 'unknown NotFound');
    const cloud = await harness.openCloud({}, '[Global]\nKubernetesClusterID = two\n');
    const [none] = [...(await cloud.instances.lookup([named(privateDnsName)])).values()];
    assert.ok(none?.state === 'unknown' && none.error.message.includes(`has the tag of this cluster: ${id(1)}`));
    assert.equal(await found(), id(1));
  });

  it('finds nodes by private DNS name in bulk and by a name that is an id; a name never proves absence', async () => {
    harness.ec2.instances.set(id(1), running(id(1), { privateDnsName: 'ip-10-0-0-1.eu-west-1.compute.internal' }));
    harness.ec2.instances.set(id(2), running(id(2), { privateDnsName: 'twin' }));
    harness.ec2.instances.set(id(3), running(id(3), { privateDnsName: 'twin' }));
    harness.ec2.instances.set(id(4), running(id(4), { privateDnsName: 'dead', state: 'terminated' }));
    const lookups = await (await harness.openCloud()).instances.lookup([
      named('ip-10-0-0-1.eu-west-1.compute.internal'),
      named('twin'),
      named('dead'),
      named('nobody'),
      named(`${id(1)}.eu-west-1.compute.internal`),
      named(id(77)),
      named('*'),
    ]);
    assert.deepEqual(states(lookups), [
      'found running by list',
      'unknown Conflict',
      'unknown NotFound',
      'unknown NotFound',
      'found running by list',
      'unknown NotFound',
      'unknown Invalid',
    ]);
    assert.deepEqual(
      harness.describes().filter(({ ids }) => ids.length > 0),
      [],
    );
  });

  it('sends 150 names in one call', async () => {
    const names = Array.from({ length: 151 }, (_, n) => named(`ip-10-0-0-${n}.eu-west-1.compute.internal`));
    await (await harness.openCloud()).instances.lookup(names);
    assert.deepEqual(
      harness
        .describes()
        .map(({ filters }) => filters.get('private-dns-name')?.length)
        .toSorted(),
      [1, 150],
    );
  });

  it('never sends what this scope cannot hold', async () => {
    const foreign = [
      'openstack:///x',
      'aws:///us-east-1a/i-00000001',
      'aws:///eu-west-1a/fargate-ip-1',
      'aws:///eu-west-1a/i-*',
    ];
    const lookups = await (await harness.openCloud()).instances.lookup(
      foreign.map((text) => ({ by: 'providerID', providerID: text })),
    );
    assert.deepEqual(states(lookups), Array(4).fill('unknown Invalid'));
    assert.deepEqual(harness.ec2.calls, []);
  });

  it('answers every ref once, and absent only for an id it asked for', async () => {
    const cloud = await harness.openCloud();
    const world = fc.record({
      existing: fc.uniqueArray(fc.integer({ min: 0, max: 40 })),
      asked: fc.array(fc.integer({ min: 0, max: 40 }), { maxLength: 45 }),
      pageSize: fc.integer({ min: 1, max: 50 }),
      failing: fc.constantFrom('nothing', 'lists', 'gets', 'second pages'),
    });
    await fc.assert(
      fc.asyncProperty(world, async ({ existing, asked, pageSize, failing }) => {
        harness.ec2.instances.clear();
        harness.add(...existing);
        harness.ec2.calls.length = 0;
        harness.ec2.pageSize = pageSize;
        harness.ec2.fault = ({ ids, form }, response) => {
          const hit =
            (failing === 'lists' && ids.length === 0) ||
            (failing === 'gets' && ids.length > 0) ||
            (failing === 'second pages' && form.has('NextToken'));
          return hit ? answerError(response, 500, 'InternalError', 'oops') : undefined;
        };
        const lookups = await cloud.instances.lookup(asked.map(ref));
        assert.deepEqual(new Set(lookups.keys()), new Set(asked.map(providerID)));
        const askedById = new Set(harness.describes().flatMap(({ ids }) => ids));
        for (const n of asked) {
          const lookup = lookups.get(providerID(n))!;
          if (existing.includes(n)) assert.notEqual(lookup.state, 'absent');
          if (lookup.state === 'absent') assert.ok(askedById.has(id(n)));
        }
        if (failing === 'nothing')
          assert.ok(asked.every((n) => !existing.includes(n) || lookups.get(providerID(n))?.state === 'found'));
      }),
      { numRuns: 60 },
    );
  });
});
