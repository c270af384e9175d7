import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  desired as classic,
  type Machine,
  machine,
  managedConfig,
  member,
  network,
  plainConfig,
} from '../../../test/clouds/aws/fake/machine.ts';
import { type DesiredLoadBalancer, ownerTags } from '../load-balancers.ts';
import { toCloudError } from './errors.ts';

const denied = (operation: string) => {
  const answer = { Code: 'AccessDenied', $metadata: { httpStatusCode: 403 } };
  return toCloudError(Object.assign(new Error('no'), answer), operation);
};
const isOfBalancer = (input: object) => /:loadbalancer\/|LoadBalancerNames/.test(JSON.stringify(input));
/** AWS refuses these calls that change tags. */
function refuse(m: Machine, isRefused: (operation: string, input: object) => boolean): void {
  m.aws.setHook(({ operation, input }) => {
    if (/(Add|Remove)Tags$/.test(operation) && isRefused(operation, input)) throw denied(operation);
    return undefined;
  });
}
const tagsOf = (m: Machine) => [
  ...[m.aws.region.balancers, m.aws.region.listeners, m.aws.region.targetGroups].flatMap((all) =>
    [...all.values()].map(({ tags }) => Object.fromEntries(tags)),
  ),
  ...(m.balancer() ? [m.balancer()!.tags] : []),
  ...[...m.aws.groups.values()].flatMap(({ name, tags }) => (/^k8s-(elb|default)-/.test(name) ? [tags] : [])),
];
const created = /Create(TargetGroup|Listener|LoadBalancer|SecurityGroup)|Delete/;

for (const [type, ask, config] of [
  ['classic', classic, plainConfig],
  ['network', network, managedConfig],
  ['network', network, plainConfig],
] as const) {
  const groups = config === managedConfig || type === 'classic' ? 'with' : 'without';
  const asked = (fields: Partial<DesiredLoadBalancer> = {}) => ask({ retain: true, ...fields });
  const more = asked({ members: [1, 2, 3].map((number) => member(number)) });

  describe(`a ${type} load balancer ${groups} a group of its own whose Service asks that it stays`, () => {
    async function takenBack(m: Machine) {
      // For so long what has just lost its tags may still be shown with them.
      await m.clock.advance(10_000);
      const { refusals, sent, observed } = await m.ensure(more);
      assert.deepEqual([refusals, observed?.members.length], [[], 3]);
      assert.ok(!sent.some((operation) => created.test(operation)), sent.join());
      for (const tags of tagsOf(m)) assert.equal(tags[ownerTags.service], 'uid-s');
    }

    for (const restart of ['without', 'after'])
      it(`comes back with its parts where it could not be given up, ${restart} a restart`, async () => {
        const m = machine({ config });
        await m.ensure(asked());
        refuse(m, (operation, input) => operation.endsWith('RemoveTags') && isOfBalancer(input));
        await assert.rejects(m.remove(asked()), /no end/);
        m.aws.setHook(() => undefined);
        if (restart === 'after') m.restart();
        await takenBack(m);
      });

    it('comes back with its parts by its own tag alone, again and again', async () => {
      const m = machine({ config });
      await m.ensure(more);
      for (let times = 0; times < 3; times += 1) {
        await m.remove(more);
        for (const tags of tagsOf(m)) assert.equal(tags[ownerTags.service], undefined);
        assert.deepEqual(
          [...new Set((await m.ensure(more)).refusals.map(({ reason }) => reason))],
          ['ForeignLoadBalancer'],
        );
        m.networkBalancer()?.tags.set(ownerTags.service, 'uid-s');
        const its = m.balancer();
        if (its) m.aws.balancers.set('auids', { ...its, tags: { ...its.tags, [ownerTags.service]: 'uid-s' } });
        await takenBack(m);
      }
    });

    it('tells once of a part that loses its tags while another one cannot', async () => {
      const m = machine({ config });
      await m.ensure(asked());
      refuse(m, (_, input) => /:(listener|loadbalancer)\/|LoadBalancerNames/.test(JSON.stringify(input)));
      const told: string[] = [];
      const plan = m.balancers.planRemoval(asked().owner, { retain: true });
      const onStep = ({ summary }: { readonly summary: string }) => void told.push(summary);
      await m.during(m.balancers.apply(plan, { permit: () => {}, onStep }).catch(() => {}));
      // A security group says first that it is kept.
      assert.deepEqual(
        ['target group', 'security group'].map((kind) => told.filter((one) => one.includes(`keep ${kind}`)).length),
        type === 'network' ? [1, config === managedConfig ? 2 : 0] : [0, 2],
      );
    });
  });
}
