import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { KubeError } from '../../controller/kube/api.ts';
import { overlap, parseCidr } from '../../controller/model/cidr.ts';
import { type IpamReplica, ipamStage } from './harness/ipam-stage.ts';

describe('pod ranges of Nodes under faults', () => {
  const begin = ipamStage();

  it('never assigns overlapping ranges and never loses one', async () => {
    const step = fc.oneof(
      { weight: 4, arbitrary: fc.record({ do: fc.constant('add' as const), name: fc.nat(11) }) },
      { weight: 3, arbitrary: fc.record({ do: fc.constant('remove' as const), name: fc.nat(11) }) },
      { weight: 1, arbitrary: fc.record({ do: fc.constant('restart' as const), name: fc.constant(0) }) },
      { weight: 2, arbitrary: fc.record({ do: fc.constant('wait' as const), name: fc.nat(30) }) },
    );
    const fault = fc.constantFrom('ok', 'ok', 'ok', 'lost', 'unsent', 'refused', 'conflict');
    await fc.assert(
      fc.asyncProperty(
        fc.array(step, { maxLength: 40 }),
        fc.array(fault, { minLength: 1, maxLength: 30 }),
        async (steps, faults) => {
          const { world, replica: first, another, ranges, initialised, close } = begin('10.244.0.0/21,fd00:10::/61');
          let replica = first;
          let call = 0;
          const wire = (each: IpamReplica) => {
            each.fault = async (sent, send) => {
              if (sent.verb !== 'patch') return send();
              call += 1;
              const hit = call > 60 ? 'ok' : faults[call % faults.length];
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
            if (each.do === 'add' && !world.cluster.node(name)) initialised(name);
            else if (each.do === 'remove') world.cluster.remove(name);
            else if (each.do === 'wait') await world.clock.advance(each.name * 100);
            else if (each.do === 'restart') {
              await replica.stop();
              replica = another();
              wire(replica);
              await replica.start();
            }
          }
          call = 1000;
          await world.clock.advance(700_000);
          const held = world.cluster.names().flatMap((name) => ranges(name).map((text) => parseCidr(text)!));
          held.forEach((one, at) => {
            assert.ok(!held.slice(at + 1).some((other) => overlap(one, other)));
          });
          const nodes = world.cluster.names();
          const served = nodes.filter((name) => ranges(name).length === 2).length;
          assert.equal(served, Math.min(8, nodes.length));
          const used = await replica.metric(
            'node_ipam_controller_cidrset_usage_cidrs',
            '{clusterCIDR="10.244.0.0/21"}',
          );
          assert.equal(used, served / 8);
          await close();
        },
      ),
      { numRuns: 40, seed: 7 },
    );
  });
});
