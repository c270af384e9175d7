import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ensure, managed, plain } from '../../../../test/clouds/aws/fake/nlb/driven.ts';
import { desired, port } from '../../../../test/clouds/aws/fake/nlb/example.ts';
import { createRecordingCalls } from '../../../../test/clouds/aws/fake/nlb/recording-calls.ts';
import { type DesiredLoadBalancer, ownerTags } from '../../load-balancers.ts';
import { tagsFor } from '../load-balancer-tags.ts';
import { leftTag } from './left.ts';
import { assemble, type LoadBalancer, type NlbObserved, type Pieces } from './observed.ts';
import { planNlb } from './plan.ts';
import { planNlbRemoval } from './removal.ts';

const guest = desired({
  ...{ owner: { ...desired().owner, service: '9f8e7d6c-1111-4222-8333-444455556666' }, service: 'default/guest' },
  ...{ name: 'a9f8e7d6c111142228333444455556666'.slice(0, 32), ports: [port(8443, 30443)] },
});

/** A load balancer with a listener of its own Service and one of a guest. */
async function shared(context = plain) {
  const calls = createRecordingCalls();
  const { observed } = await ensure(calls, desired(), undefined, context);
  const { pieces } = observed!;
  const own = pieces.own!;
  const [first] = own.listeners;
  const tags = tagsFor(guest, pieces.cluster);
  const theirs = { ...first!, arn: `${first!.arn}-guest`, port: 8443, group: 'arn:guest', tags };
  return { calls, pieces, own, theirs };
}

/** Rules on the nodes have gone. */
const nobodys = ({ network }: Pieces): Pieces['network'] => ({ ...network, groups: new Map() });

const steps = (observed: NlbObserved | undefined, retain = false) =>
  planNlbRemoval(observed!, retain).steps.map(({ summary }) => summary.replaceAll(/ ?(arn:|k8s-|a0a1)\S+/g, ''));

const detached = ['delete listener TCP 8443 of', 'delete target group'];

const { cluster } = guest.owner;

describe('the consent tag of a network load balancer', () => {
  /** What is planned for the guest on a load balancer with this tag, on which it has a listener or not. */
  async function planned(consent: string, wish: Partial<DesiredLoadBalancer>, has: boolean) {
    const { pieces, own, theirs } = await shared();
    const { owner, name, service } = guest;
    const tags = { [ownerTags.consent]: consent };
    const host: LoadBalancer = { ...own, tags, listeners: has ? [theirs] : [] };
    const group = { ...pieces.groups[0]!, arn: 'arn:guest', tags: theirs.tags };
    const observed = assemble({
      ...{ ...pieces, subject: { owner, name, service, attachTo: own.arn }, own: undefined, hosts: [host] },
      ...{ groups: has ? [group] : [], network: nobodys(pieces) },
    });
    const plan = planNlb({ ...guest, attach: { id: own.arn, allowed: false }, ...wish }, observed, plain);
    return {
      created: plan.steps.filter(({ resource, action }) => action === 'create' && resource === 'listener').length,
      deleted: plan.steps.filter(({ resource, action }) => action === 'delete' && resource === 'listener').length,
      refusals: plan.refusals.map(({ reason }) => reason),
    };
  }

  for (const [consent, created, refusals] of [
    [`${cluster}/default`, 1, []],
    [`${cluster}/team-a ${cluster}/default/guest`, 1, []],
    [`${cluster}/team-a`, 0, ['ForeignLoadBalancer']],
    [`${cluster}/default/web`, 0, ['ForeignLoadBalancer']],
    [cluster, 0, ['ForeignLoadBalancer']],
  ] as const) {
    it(`with ${consent.replaceAll(cluster, 'UID')} ${created > 0 ? 'lets' : 'does not let'} default/guest in`, async () => {
      assert.deepEqual(await planned(consent, {}, false), { created, deleted: 0, refusals });
    });
  }

  it('for the whole cluster is enough with the operator’s flag', async () => {
    const plan = await planned(cluster, { clusterWideConsent: true }, false);
    assert.deepEqual(plan, { created: 1, deleted: 0, refusals: [] });
  });

  it('for the whole cluster leaves a listener that stands, and adds none', async () => {
    assert.deepEqual(await planned(cluster, {}, true), { created: 0, deleted: 0, refusals: ['ClusterWideConsent'] });
    const ports = [...guest.ports, port(9443, 30444)];
    assert.deepEqual(await planned(cluster, { ports }, true), {
      ...{ created: 0, deleted: 0, refusals: ['ForeignLoadBalancer'] },
    });
  });

  it('taken away leaves a listener that stands, and adds none', async () => {
    const ports = [...guest.ports, port(9443, 30444)];
    assert.deepEqual(await planned('', { ports }, true), {
      ...{ created: 0, deleted: 0, refusals: ['ForeignLoadBalancer'] },
    });
  });
});

describe('a network load balancer that Services share', () => {
  it('is marked as left, last of all, and not as retained', async () => {
    const { pieces, own, theirs } = await shared(managed);
    const both = assemble({ ...pieces, own: { ...own, listeners: [...own.listeners, theirs] } });
    const plan = planNlbRemoval(both!, false);
    assert.deepEqual(steps(both), [
      'delete listener TCP 80 of',
      'delete target group',
      'tag security group',
      'leave load balancer of default/web to the others that use it',
    ]);
    assert.ok(!JSON.stringify(plan).includes(ownerTags.retained));
  });

  it('is done with by its Service once it is left, while others use it, and goes when nobody does', async () => {
    const { pieces, own, theirs } = await shared();
    const tags = { ...own.tags, [leftTag]: own.arn };
    const left = (listeners: LoadBalancer['listeners']) =>
      assemble({ ...pieces, groups: [], network: nobodys(pieces), own: { ...own, tags, listeners } });
    assert.deepEqual(steps(left([theirs])), []);
    assert.deepEqual(steps(left([])).at(-1), 'delete load balancer');
  });

  it('is left once and for all where an earlier try, or a guest, has marked it as retained', async () => {
    const { pieces, own, theirs } = await shared();
    const tags = { ...own.tags, [ownerTags.retained]: 'default/web' };
    const marked = (more: LoadBalancer['tags']) =>
      assemble({
        ...{ ...pieces, groups: [], network: nobodys(pieces) },
        own: { ...own, tags: { ...tags, ...more }, listeners: [theirs] },
      });
    assert.deepEqual(steps(marked({})), ['leave load balancer of default/web to the others that use it']);
    assert.deepEqual(steps(marked({ [leftTag]: own.arn })), []);
  });

  const forGuest = async (fields: Partial<LoadBalancer>, more: LoadBalancer['listeners'] = []) => {
    const { pieces, own, theirs } = await shared();
    const host = { ...own, listeners: [theirs, ...more], ...fields };
    const { owner, name, service } = guest;
    const subject = { owner, name, service, attachTo: own.arn };
    const groups = host.listeners.includes(theirs) ? [{ ...pieces.groups[0]!, tags: theirs.tags }] : [];
    return assemble({ ...pieces, subject, own: undefined, hosts: [host], groups, network: nobodys(pieces) });
  };
  const leftTags = async () => {
    const { own } = await shared();
    return { ...own.tags, [leftTag]: own.arn };
  };

  it('is not a guest’s to end while its own Service has it', async () => {
    assert.deepEqual(steps(await forGuest({})), detached);
  });

  it('goes with the last guest, whose listener may be gone already', async () => {
    const tags = await leftTags();
    for (const fields of [{ tags }, { tags, listeners: [] }]) {
      const observed = await forGuest(fields);
      assert.deepEqual(observed?.owner, guest.owner);
      assert.equal(steps(observed)[0], 'delete load balancer which nobody uses any more');
    }
  });

  it('stays for another guest, and for one that retains it', async () => {
    const tags = await leftTags();
    const { theirs } = await shared();
    const another = { ...theirs, arn: 'arn:another', port: 9443, tags: { ...theirs.tags, [ownerTags.service]: 'x' } };
    assert.deepEqual(steps(await forGuest({ tags }, [another])), detached);
    assert.deepEqual(steps(await forGuest({ tags }), true), ['tag as kept when default/guest goes', ...detached]);
    const kept = { ...tags, [ownerTags.retained]: 'default/guest' };
    assert.equal(await forGuest({ tags: kept, listeners: [] }).then((one) => one?.owner), undefined);
  });

  it('is not retained by a Service that names it and does not use it', async () => {
    const tags = await leftTags();
    const { theirs } = await shared();
    const another = { ...theirs, arn: 'arn:another', tags: { ...theirs.tags, [ownerTags.service]: 'x' } };
    const { pieces } = (await forGuest({ tags }))!;
    const names = { ...pieces, hosts: [{ ...pieces.hosts[0]!, listeners: [another] }] };
    assert.deepEqual(steps(assemble(names), true), ['delete target group']);
  });

  it('of another cluster, or with a mark of another load balancer, is never ended', async () => {
    const tags = await leftTags();
    for (const foreign of [
      { ...tags, [ownerTags.cluster]: 'another' },
      { ...tags, [leftTag]: 'arn:another' },
    ])
      assert.deepEqual(steps(await forGuest({ tags: foreign })), detached);
  });
});
