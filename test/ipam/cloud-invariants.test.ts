import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { KubeError } from '../../controller/kube/api.ts';
import { type IpamReplica, ipamStage } from './harness/ipam-stage.ts';

const rangeOf = (number: number) => `10.4.${number}.0/24`;

describe('pod ranges of instances under faults', () => {
  const begin = ipamStage({ allocator: 'CloudAllocator' });

  it('gives each pod range to the Node of its instance alone, and never replaces one', async () => {
    // Few ranges, so that VMs that follow one another have the same.
    const step = fc.oneof(
      {
        weight: 5,
        arbitrary: fc.record({ do: fc.constant('add' as const), name: fc.nat(7), range: fc.option(fc.nat(4)) }),
      },
      { weight: 1, arbitrary: fc.record({ do: fc.constant('taken' as const), name: fc.nat(7), range: fc.nat(4) }) },
      { weight: 3, arbitrary: fc.record({ do: fc.constant('remove' as const), name: fc.nat(7) }) },
      { weight: 1, arbitrary: fc.record({ do: fc.constant('restart' as const), name: fc.constant(0) }) },
      { weight: 2, arbitrary: fc.record({ do: fc.constant('wait' as const), name: fc.nat(30) }) },
    );
    const fault = fc.constantFrom('ok', 'ok', 'ok', 'lost', 'unsent', 'refused', 'conflict');
    await fc.assert(
      fc.asyncProperty(
        fc.array(step, { maxLength: 30 }),
        fc.array(fault, { minLength: 1, maxLength: 20 }),
        async (steps, faults) => {
          const { world, replica: first, another, ranges, close } = begin('10.4.0.0/16');
          const ownRanges = new Map<string, string | undefined>();
          const taken = new Map<string, string>();
          let [replica, call, vms] = [first, 0, 0];
          const wire = (each: IpamReplica) => {
            each.fault = async (sent, send) => {
              if (sent.verb !== 'patch') return send();
              const hit = call > 60 ? 'ok' : faults[call++ % faults.length];
              if (hit === 'unsent') throw new KubeError({ status: 0, reason: 'Unreachable', message: 'injected' });
              if (hit === 'refused') throw new KubeError({ status: 403, reason: 'Forbidden', message: 'injected' });
              if (hit === 'conflict') throw new KubeError({ status: 409, reason: 'Conflict', message: 'injected' });
              const answer = await send();
              if (hit === 'lost') throw new KubeError({ status: 504, reason: 'Timeout', message: 'injected' });
              return answer;
            };
          };
          wire(replica);
          await replica.start();
          for (const each of steps) {
            const name = `n${each.name}`;
            const node = world.cluster.node(name);
            if (each.do === 'add' && !node) {
              const id = `i-${vms++}`;
              const range = each.range === null ? undefined : rangeOf(each.range);
              world.cloud.model.create({ name, id, tags: { 'pod-ranges': range ?? '' } });
              world.cluster.register(name, { tainted: false, providerID: `simulated://sim-1/${id}` });
              ownRanges.set(name, range);
            } else if (each.do === 'taken' && node && ranges(name).length === 0) {
              const podCIDR = rangeOf(each.range);
              world.cluster.mergePatch(name, { spec: { podCIDR, podCIDRs: [podCIDR] } });
              taken.set(name, podCIDR);
            } else if (each.do === 'remove' && node) {
              world.cluster.remove(name);
              taken.delete(name);
            } else if (each.do === 'wait') await world.clock.advance(each.name * 100);
            else if (each.do === 'restart') {
              await replica.stop();
              replica = another();
              wire(replica);
              await replica.start();
            }
          }
          call = 1000;
          await world.clock.advance(400_000);
          const held = new Map(world.cluster.names().map((name) => [name, ranges(name)]));
          for (const [name, has] of held) {
            if (taken.has(name)) assert.deepEqual(has, [taken.get(name)]);
            else {
              const own = ownRanges.get(name);
              const isHeld = [...held].some(([other, those]) => other !== name && those.some((one) => one === own));
              // Of two Nodes that a person or a fault gave one range, none is asked of us.
              assert.deepEqual(has, own === undefined || isHeld ? [] : [own]);
            }
          }
          await close();
        },
      ),
      { numRuns: 60, seed: 7 },
    );
  });
});
