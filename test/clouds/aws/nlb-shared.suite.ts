import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { AddTagsCommand, DescribeTagsCommand } from '@aws-sdk/client-elastic-load-balancing-v2';
import { tagMap } from '../../../controller/clouds/aws/cluster-tags.ts';
import { type DesiredLoadBalancer, type LoadBalancers, ownerTags } from '../../../controller/clouds/load-balancers.ts';
import { desiredFor, newOwner, port } from '../suite/desired.ts';
import { ensure, look } from '../suite/drive.ts';
import { sorted } from '../suite/suite-context.ts';
import type { CloudVm } from '../suite/world.ts';
import { type AwsWorld, startAwsWorld } from './aws-world.ts';
import { loadBalancerRules } from './load-balancer-rules.ts';

const moto = process.env['MOTO_URL'];

/** One Service that uses the load balancer: the one that it was made for, or a guest. */
interface User {
  desired: DesiredLoadBalancer;
  readonly id: string;
}

/** What each controller does for a Service that goes, one call to the cloud or one look after the other. */
type Going = AsyncGenerator<string, void>;

/** As the controller does: after the last change it reads once more, and that read alone releases the Service. */
async function* going(world: AwsWorld, { desired, id }: User, balancers: LoadBalancers): Going {
  for (let looks = 0; looks < 100; looks += 1) {
    let observed = await look({ world, balancers, desired, record: { id } });
    yield 'looked';
    for (let calls = 0; ; calls += 1) {
      const ours = observed?.owner?.service === desired.owner.service;
      const plan = ours && observed ? balancers.planRemoval(observed, { retain: desired.retain }) : undefined;
      const [step] = plan?.steps ?? [];
      if (step) {
        observed = await balancers.apply(step, observed, { permit: () => {} });
        yield step.summary;
        continue;
      }
      if (calls === 0 && plan?.waitMs === undefined) return;
      await world.pass(plan?.waitMs ?? 0);
      break;
    }
  }
  assert.fail(`no end: ${desired.service}`);
}

for (const managed of [false, true]) {
  describe(`a network load balancer that Services share, ${managed ? 'with' : 'without'} security groups`, () => {
    let world: AwsWorld;
    let vms: readonly CloudVm[];
    before(async () => {
      assert.ok(moto, 'MOTO_URL');
      const config = managed ? ['NLBSecurityGroupMode = Managed'] : [];
      world = await startAwsWorld({ server: moto, kind: 'nlb', config, rules: loadBalancerRules() });
      vms = [await world.createVm()];
    });
    after(() => world?.close());

    const fresh = async () => {
      const { loadBalancers } = await world.open();
      assert.ok(loadBalancers);
      return loadBalancers;
    };

    /** The Service that the load balancer is made for, and guests on it. */
    async function share(guests: number): Promise<[User, ...User[]]> {
      const balancers = await fresh();
      const made = async (desired: DesiredLoadBalancer) => {
        const { observed, refusals } = await ensure({ world, balancers, desired, record: { id: undefined } });
        assert.deepEqual(refusals, []);
        return { desired, id: observed!.id! };
      };
      const owner = await made(desiredFor(newOwner(world.cluster), vms));
      const Tags = [{ Key: ownerTags.consent, Value: `${world.cluster}/default` }];
      await world.clients.elbv2.send(new AddTagsCommand({ ResourceArns: [owner.id], Tags }));
      const users: [User, ...User[]] = [owner];
      for (let guest = 1; guest <= guests; guest += 1) {
        const ports = [port(8000 + guest, 31000 + guest)];
        const attach = { id: owner.id, allowed: false };
        users.push(await made(desiredFor(newOwner(world.cluster), vms, { ports, attach })));
      }
      return users;
    }

    const toEnd = async (run: Going) => {
      for await (const _ of run);
    };
    const gone = async (user: User, balancers?: LoadBalancers) =>
      toEnd(going(world, user, balancers ?? (await fresh())));

    /** Each user goes on by one, as the turns say, and at last all to their ends. */
    async function together(users: readonly User[], turns: readonly number[], apart: boolean): Promise<void> {
      const one = await fresh();
      const runs = await Promise.all(users.map(async (user) => going(world, user, apart ? await fresh() : one)));
      for (const turn of turns) await runs[turn]!.next();
      await Promise.all(runs.map(toEnd));
    }

    const bits = (seed: number, count: number) => Array.from({ length: count }, (_, at) => (seed >> at) & 1);

    it('goes with the last of them, in any order', async () => {
      const before = sorted(await world.inventory());
      for (const order of [
        [0, 1, 2],
        [1, 0, 2],
      ]) {
        const users = await share(2);
        const balancers = await fresh();
        for (const [at, index] of order.entries()) {
          await gone(users[index]!, balancers);
          const there = await world.describeLoadBalancer(users[0].id);
          assert.equal(there !== undefined, at < 2, `${order} at ${at}`);
          // Who stays is served as before.
          for (const rest of order.slice(at + 1)) {
            const { desired, id } = users[rest]!;
            const again = await ensure({ world, balancers: await fresh(), desired, record: { id } });
            assert.deepEqual([again.calls, again.observed?.id], [0, id]);
          }
        }
        assert.deepEqual(sorted(await world.inventory()), before, `${order}`);
      }
    });

    it('goes when all go at the same time, whatever the order of their calls', async () => {
      const before = sorted(await world.inventory());
      const ahead = [...Array(5).fill(0), ...Array(12).fill(1)];
      const behind = [2, 4].map((first) => [...Array(first).fill(1), ...Array(12).fill(0)]);
      const mixed = [0x55555555, 0x1c71c71c].map((seed) => bits(seed, 31));
      for (const turns of managed ? [ahead, ...behind, ...mixed] : mixed) {
        await together(await share(1), turns, turns.length % 2 === 0);
        assert.deepEqual(sorted(await world.inventory()), before, turns.join(''));
      }
    });

    it('goes when controllers die at any call', async () => {
      const before = sorted(await world.inventory());
      /** Answers whether it came to its end before it died. */
      const dies = async (user: User, after: number) => {
        const run = going(world, user, await fresh());
        for (let done = 0; done < after; done += 1) if ((await run.next()).done) return true;
        return false;
      };
      for (let after = 1, ended = false; !ended; after += 1) {
        const users = await share(1);
        const [owner, guest] = users as [User, User];
        if (managed) await dies(guest, after);
        else await gone(owner);
        ended = await dies(managed ? owner : guest, after);
        await Promise.all(users.map((user) => gone(user)));
        assert.deepEqual(sorted(await world.inventory()), before, `died after ${after}`);
      }
    });

    it('returns to the Service that it was created for', async () => {
      const before = sorted(await world.inventory());
      const users = await share(1);
      const [owner, guest] = users as [User, User];
      await gone(owner);
      const all = await (await fresh()).observeAll(world.cluster);
      const shown = users.map(({ desired }) => all.some((one) => one.owner?.service === desired.owner.service));
      assert.deepEqual(shown, [false, true], 'it is no orphan while it has a tenant');
      const { observed, refusals } = await ensure({
        ...{ world, balancers: await fresh(), desired: owner.desired, record: { id: undefined } },
      });
      assert.deepEqual([observed?.id, refusals], [owner.id, []]);
      await gone(guest);
      assert.notEqual(await world.describeLoadBalancer(owner.id), undefined);
      await gone(owner);
      assert.deepEqual(sorted(await world.inventory()), before);
    });

    it('goes when its last tenant moves elsewhere', async () => {
      const before = sorted(await world.inventory());
      const [owner, guest] = (await share(1)) as [User, User];
      await gone(owner);
      const { attach: _, ...rest } = guest.desired;
      const desired = { ...rest, attach: undefined, mayChangeAddress: true };
      const { observed } = await ensure({ world, balancers: await fresh(), desired, record: { id: guest.id } });
      assert.notEqual(observed?.id, owner.id);
      assert.equal(await world.describeLoadBalancer(owner.id), undefined);
      await gone({ desired, id: observed!.id! });
      assert.deepEqual(sorted(await world.inventory()), before);
    });

    it('stays when a Service that goes wants it retained', async () => {
      for (const who of [0, 1]) {
        const users = await share(1);
        users[who]!.desired = { ...users[who]!.desired, retain: true };
        for (const user of users) await gone(user);
        const [{ id }] = users;
        const { TagDescriptions } = await world.clients.elbv2.send(new DescribeTagsCommand({ ResourceArns: [id] }));
        assert.equal(tagMap(TagDescriptions?.[0]?.Tags)[ownerTags.retained], users[who]!.desired.service);
        const all = await (await fresh()).observeAll(world.cluster);
        assert.deepEqual(
          all.filter((one) => one.id === id).map(({ retained }) => retained),
          [true],
        );
        await world.deleteLoadBalancer(id);
      }
    });
  });
}
