import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { AddTagsCommand, DescribeTagsCommand } from '@aws-sdk/client-elastic-load-balancing-v2';
import { isCloudError } from '../../../common/cloud-error.ts';
import { tagMap } from '../../../controller/clouds/aws/cluster-tags.ts';
import { type DesiredLoadBalancer, type LoadBalancers, ownerTags } from '../../../controller/clouds/load-balancers.ts';
import type { Permit } from '../../../controller/clouds/permit.ts';
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

/** What each controller does for a Service that goes, one call to the cloud or one read after the other. */
type Going = AsyncGenerator<string, 'gone' | 'stays'>;

/** As the controller does it: after the last change it reads once more, and only that read lets the Service go. */
async function* going(
  world: AwsWorld,
  { desired, id }: User,
  balancers: LoadBalancers,
  permit: Permit = () => {},
): Going {
  for (let reads = 0; reads < 100; reads += 1) {
    let observed = await look({ world, balancers, desired, record: { id } });
    yield 'read';
    for (let calls = 0; ; calls += 1) {
      const ours = observed?.owner?.service === desired.owner.service;
      const plan = ours && observed ? balancers.planRemoval(observed.owner!, { retain: desired.retain }) : undefined;
      const [step] = plan?.steps ?? [];
      if (plan !== undefined && step) {
        try {
          observed = await balancers.apply(plan, { permit });
        } catch (error) {
          if (!isCloudError(error)) throw error;
          await world.pass(error.retryAfterMs ?? 1000);
          break;
        }
        yield step.summary;
        continue;
      }
      if (plan?.refusals.some(({ reason }) => reason === 'Conflict')) return 'stays';
      if (calls === 0 && plan?.waitMs === undefined) return 'gone';
      await world.pass(plan?.waitMs ?? 0);
      break;
    }
  }
  return assert.fail(`no end: ${desired.service}`);
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
      for (;;) {
        const { done, value } = await run.next();
        if (done) return value;
      }
    };
    const gone = async (user: User, balancers?: LoadBalancers) =>
      toEnd(going(world, user, balancers ?? (await fresh())));
    /** A Service whose load balancer others use waits for them, and is tried again. */
    const allGone = async (users: readonly User[]) => {
      let left = users;
      for (let rounds = 0; left.length > 0; rounds += 1) {
        assert.ok(rounds < 5, 'no end');
        const ends = await Promise.all(left.map((user) => gone(user)));
        left = left.filter((_, at) => ends[at] === 'stays');
      }
    };

    /** Each user goes on by one, as the turns say, and at last all to their ends. */
    async function together(users: readonly User[], turns: readonly number[], apart: boolean): Promise<void> {
      const one = await fresh();
      const runs = await Promise.all(users.map(async (user) => going(world, user, apart ? await fresh() : one)));
      for (const turn of turns) await runs[turn]!.next();
      await Promise.all(runs.map(toEnd));
      await allGone(users);
    }

    const bits = (seed: number, count: number) => Array.from({ length: count }, (_, at) => (seed >> at) & 1);

    it('goes with the last of them, whichever goes first', async () => {
      const before = sorted(await world.inventory());
      for (const order of [
        [0, 1, 2],
        [1, 0, 2],
      ]) {
        const users = await share(2);
        for (const [at, index] of order.entries()) {
          const end = await gone(users[index]!);
          assert.equal(end, index === 0 ? 'stays' : 'gone', `${order} at ${at}`);
          assert.notEqual(await world.describeLoadBalancer(users[0].id), undefined);
          // Those that stay are served as before.
          for (const rest of order.slice(at + 1)) {
            const { desired, id } = users[rest]!;
            const again = await ensure({ world, balancers: await fresh(), desired, record: { id } });
            assert.deepEqual([again.calls, again.observed?.id], [0, id]);
          }
        }
        assert.equal(await gone(users[0]), 'gone');
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
        let left = after;
        const crash = () => {
          left -= 1;
          if (left < 0) throw new Error('crash');
        };
        return toEnd(going(world, user, await fresh(), crash)).then(
          () => true,
          () => false,
        );
      };
      for (let after = 1, ended = false; !ended; after += 1) {
        const users = await share(1);
        const [owner, guest] = users as [User, User];
        const guestEnded = await dies(guest, after);
        const ownerEnded = await dies(owner, after);
        ended = guestEnded && ownerEnded;
        await allGone(users);
        assert.deepEqual(sorted(await world.inventory()), before, `died after ${after}`);
      }
    });

    it('serves the Service that it was made for when that comes back', async () => {
      const before = sorted(await world.inventory());
      const users = await share(1);
      const [owner, guest] = users as [User, User];
      assert.equal(await gone(owner), 'stays');
      const { observed, refusals } = await ensure({
        world,
        balancers: await fresh(),
        desired: owner.desired,
        record: { id: undefined },
      });
      assert.deepEqual([observed?.id, refusals], [owner.id, []]);
      assert.equal(await gone(guest), 'gone');
      assert.notEqual(await world.describeLoadBalancer(owner.id), undefined);
      assert.equal(await gone(owner), 'gone');
      assert.deepEqual(sorted(await world.inventory()), before);
    });

    it('goes when its last tenant moves elsewhere', async () => {
      const before = sorted(await world.inventory());
      const [owner, guest] = (await share(1)) as [User, User];
      assert.equal(await gone(owner), 'stays');
      const { attach: _, ...rest } = guest.desired;
      const desired = { ...rest, attach: undefined, mayChangeAddress: true };
      const { observed } = await ensure({ world, balancers: await fresh(), desired, record: { id: guest.id } });
      assert.notEqual(observed?.id, owner.id);
      await allGone([owner]);
      assert.equal(await world.describeLoadBalancer(owner.id), undefined);
      await gone({ desired, id: observed!.id! });
      assert.deepEqual(sorted(await world.inventory()), before);
    });

    it('keeps a shared load balancer whose first Service asks that it stays', async () => {
      const users = await share(1);
      users[0].desired = { ...users[0].desired, retain: true };
      for (const user of users) await gone(user);
      const [{ id }] = users;
      const { TagDescriptions } = await world.clients.elbv2.send(new DescribeTagsCommand({ ResourceArns: [id] }));
      assert.equal(tagMap(TagDescriptions?.[0]?.Tags)[ownerTags.retained], users[0].desired.service);
      const all = await (await fresh()).observeAll(world.cluster);
      assert.deepEqual(
        all.filter((one) => one.id === id).map(({ retained }) => retained),
        [true],
      );
      await world.deleteLoadBalancer(id);
    });
  });
}
