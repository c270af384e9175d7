import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { annotations } from '../../common/well-known.ts';
import { answerError, running } from '../clouds/aws/fake/fake-ec2.ts';
import { id, nodeName, startTagWorld, type TagWorld } from './harness/tag-world.ts';

const desired = { team: 'a', cost: '1' };

describe('the loop that tags the instances of Nodes', () => {
  let world: TagWorld;
  beforeEach(async () => {
    world = await startTagWorld();
  });
  afterEach(() => world.close());

  const isTagged = (n: number) => Object.entries(desired).every(([key, value]) => world.tagsOf(n)?.[key] === value);

  it('sets the tags on the instances of all Nodes in one call, and leaves their other tags alone', async () => {
    for (const n of [1, 2, 3]) world.add(n, { Name: `vm-${n}` });
    const replica = await world.replica();
    await world.until('all have the tags', () => [1, 2, 3].every(isTagged));
    assert.deepEqual(world.changes(), ['CreateTags 1 2 3']);
    assert.deepEqual(world.tagsOf(2), { Name: 'vm-2', ...desired });
    assert.equal(await replica.metric('mooring_node_tag_changes_total', 'action="set"'), 3);
    assert.deepEqual(replica.events(nodeName(1)), []);
  });

  it('changes nothing after a restart with nothing changed, nor when the instances are read again', async () => {
    for (const n of [1, 2]) world.add(n);
    const first = await world.replica();
    await world.until('both have the tags', () => [1, 2].every(isTagged));
    await first.stop();
    await world.replica();
    await world.pass(700_000);
    assert.deepEqual(world.changes(), ['CreateTags 1 2']);
  });

  it('sets the tags of a Node that joins, without waiting for the next read of all instances', async () => {
    world.add(1);
    await world.replica();
    await world.until('the first has the tags', () => isTagged(1));
    world.ec2.instances.set(id(2), running(id(2), { privateDnsName: nodeName(2) }));
    world.cluster.register(nodeName(2));
    const began = world.clock.monotonic();
    await world.until('the new one has the tags', () => isTagged(2));
    assert.ok(world.clock.monotonic() - began < 30_000);
  });

  it('sets a tag again that a person removed, once the instances are read again', async () => {
    world.add(1);
    await world.replica();
    await world.until('it has the tags', () => isTagged(1));
    world.ec2.instances.set(id(1), running(id(1), { tags: { team: 'a' } }));
    await world.pass(400_000);
    assert.deepEqual(world.tagsOf(1), desired);
  });

  it('overwrites another value as the classic controller does, and says so in an event', async () => {
    world.add(1, { team: 'b' });
    const replica = await world.replica();
    await world.until('it has the tags', () => isTagged(1));
    const expected = `InstanceTagOverwritten: Tag team of instance aws:///eu-west-1a/${id(1)} was "b", now "a"`;
    await world.until('there is an event', () => replica.events(nodeName(1)).includes(expected));
  });

  it('touches neither instances without a Node nor those of foreign Nodes', async () => {
    world.add(1);
    world.ec2.instances.set(id(8), running(id(8)));
    world.ec2.instances.set(id(9), running(id(9)));
    world.cluster.register('foreign', { tainted: false, providerID: `aws:///us-east-1a/${id(9)}` });
    await world.replica();
    await world.until('its own has the tags', () => isTagged(1));
    await world.pass(60_000);
    assert.deepEqual(world.changes(), ['CreateTags 1']);
  });

  it('removes the tags when a Node is deleted and its instance stays, but none with another value', async () => {
    for (const n of [1, 2]) world.add(n, { Name: `vm-${n}` });
    const replica = await world.replica();
    await world.until('both have the tags', () => [1, 2].every(isTagged));
    world.ec2.instances.set(id(2), running(id(2), { tags: { Name: 'vm-2', team: 'b', cost: '1' } }));
    world.cluster.remove(nodeName(2));
    await world.until('the tags are removed', () => world.tagsOf(2)?.['cost'] === undefined);
    assert.deepEqual(world.tagsOf(2), { Name: 'vm-2', team: 'b' });
    assert.deepEqual(world.changes(), ['CreateTags 1 2', 'DeleteTags 2']);
    assert.ok(isTagged(1));
    assert.equal(await replica.metric('mooring_node_tag_changes_total', 'action="remove"'), 1);
  });

  it('makes no call for the instance of a deleted Node that is gone', async () => {
    for (const n of [1, 2]) world.add(n);
    await world.replica();
    await world.until('both have the tags', () => [1, 2].every(isTagged));
    world.ec2.instances.set(id(2), running(id(2), { state: 'terminated', tags: desired }));
    world.cluster.remove(nodeName(2));
    await world.pass(120_000);
    assert.deepEqual(world.changes(), ['CreateTags 1 2']);
  });

  it('removes tags of no more instances than the budget allows', async () => {
    for (const n of [1, 2, 3, 4]) world.add(n);
    const replica = await world.replica({ budget: '1/10m' });
    await world.until('all have the tags', () => [1, 2, 3, 4].every(isTagged));
    for (const n of [1, 2, 3]) world.cluster.remove(nodeName(n));
    await world.until('one loses them', () => world.changes().length === 2);
    await world.pass(60_000);
    assert.deepEqual(world.changes(), ['CreateTags 1 2 3 4', 'DeleteTags 1']);
    assert.equal(await replica.metric('mooring_node_tags_waiting', 'reason="BudgetExhausted"'), 2);
    await world.pass(600_000);
    assert.deepEqual(world.changes().slice(2), ['DeleteTags 2']);
  });

  it('keeps the tags of an instance whose Node comes back', async () => {
    for (const n of [1, 2]) world.add(n);
    await world.replica({ budget: '1/10m' });
    await world.until('both have the tags', () => [1, 2].every(isTagged));
    world.cluster.remove(nodeName(2));
    world.add(2, desired);
    await world.pass(60_000);
    assert.deepEqual(world.changes(), ['CreateTags 1 2']);
  });

  it('lets a new leader remove the tags that its predecessor could not', async () => {
    for (const n of [1, 2]) world.add(n);
    const first = await world.replica({ budget: '5/10m' });
    await world.until('both have the tags', () => [1, 2].every(isTagged));
    await world.replica({ budget: '5/10m' });
    await world.pass(5000);
    world.ec2.fault = ({ action }, response) =>
      action === 'DeleteTags' ? answerError(response, 503, 'Unavailable', 'later') : undefined;
    world.cluster.remove(nodeName(2));
    await world.pass(5000);
    await first.stop();
    world.ec2.fault = undefined;
    await world.until('the second removes them', () => world.tagsOf(2)?.['team'] === undefined);
  });

  it('leaves a paused Node alone, and all while everything is paused', async () => {
    for (const n of [1, 2]) world.add(n);
    world.cluster.mergePatch(nodeName(2), { metadata: { annotations: { [annotations.paused]: 'true' } } });
    world.pauseAll('true');
    const replica = await world.replica();
    await world.pass(60_000);
    assert.deepEqual(world.changes(), []);
    assert.equal(await replica.metric('mooring_node_tags_waiting', 'reason="Paused"'), 2);
    world.pauseAll('');
    await world.until('the first has the tags', () => isTagged(1));
    await world.pass(10_000);
    assert.deepEqual(world.changes(), ['CreateTags 1']);
    world.cluster.mergePatch(nodeName(2), { metadata: { annotations: { [annotations.paused]: null } } });
    await world.until('the second has them', () => isTagged(2));
  });

  it('tags the others when EC2 does not have one of a batch, and says which one in an event', async () => {
    for (const n of [1, 2, 3, 4]) world.add(n);
    // EC2 shows it in a list for a while after it is gone.
    world.ec2.fault = ({ action, form }, response) => {
      const isAbout = [...form.values()].includes(id(3));
      if (action !== 'CreateTags' || !isAbout) return undefined;
      return answerError(response, 400, 'InvalidInstanceID.NotFound', `The instance ID '${id(3)}' does not exist`);
    };
    const replica = await world.replica();
    await world.until('the others have the tags', () => [1, 2, 4].every(isTagged));
    assert.deepEqual(world.changes(), ['CreateTags 1 2 3 4', 'CreateTags 1 2 4']);
    await world.until('there is an event', () =>
      /^InstanceNotTagged: .*NotFound/.test(replica.events(nodeName(3))[0] ?? ''),
    );
    assert.equal(await replica.metric('mooring_node_tags_waiting', 'reason="NotFound"'), 1);
  });

  it('finds by halves the one that the role may not tag', async () => {
    for (let n = 1; n <= 9; n += 1) world.add(n);
    world.ec2.fault = ({ action, form }, response) => {
      const isAbout = [...form.values()].includes(id(7));
      if (action !== 'CreateTags' || !isAbout) return undefined;
      return answerError(response, 403, 'UnauthorizedOperation', 'You are not authorized');
    };
    const replica = await world.replica();
    await world.until('the others have the tags', () => [1, 2, 3, 4, 5, 6, 8, 9].every(isTagged));
    assert.equal(await replica.metric('mooring_node_tags_waiting', 'reason="Forbidden"'), 1);
    const calls = world.changes().length;
    assert.ok(calls < 12, `${calls} calls`);
  });

  it('makes few calls while all are refused, and tags them once the role may', async () => {
    for (let n = 1; n <= 40; n += 1) world.add(n);
    world.ec2.fault = ({ action }, response) =>
      action === 'CreateTags' ? answerError(response, 403, 'UnauthorizedOperation', 'no') : undefined;
    await world.replica();
    await world.pass(60_000);
    const refused = world.changes().length;
    // Each round ends after a dozen, and the rests double.
    assert.ok(refused > 0 && refused < 100, `${refused} calls`);
    world.ec2.fault = undefined;
    await world.until('all have the tags', () => Array.from({ length: 40 }, (_, at) => at + 1).every(isTagged));
  });

  it('repeats with back-off what EC2 throttles', async () => {
    world.add(1);
    world.ec2.fault = ({ action }, response) =>
      action === 'CreateTags' ? answerError(response, 503, 'RequestLimitExceeded', 'slow') : undefined;
    const replica = await world.replica();
    await world.until('it is refused', () => world.changes().length > 0);
    await world.pass(20_000);
    assert.ok(world.changes().length < 8, `${world.changes().length} calls`);
    assert.equal(await replica.metric('mooring_node_tags_waiting', 'reason="Throttled"'), 1);
    world.ec2.fault = undefined;
    await world.until('it has the tags', () => isTagged(1));
  });

  it('tags no more Nodes a second than the flags allow', async () => {
    for (let n = 1; n <= 12; n += 1) world.add(n);
    await world.replica({ limits: { perSecond: 0.5, burst: 3 } });
    await world.until('the burst is tagged', () => world.changes().length > 0);
    assert.equal(world.changes()[0]?.split(' ').length, 4);
    const began = world.clock.monotonic();
    await world.until('all have the tags', () => Array.from({ length: 12 }, (_, at) => at + 1).every(isTagged));
    assert.ok(world.clock.monotonic() - began >= 16_000);
  });

  it('changes nothing where --controllers does not name it, although Nodes run', async () => {
    world.add(1);
    await world.replica({ loops: { tagging: false }, tags: {} });
    await world.pass(60_000);
    assert.deepEqual(world.changes(), []);
  });

  it('runs alone, without the loops for Nodes', async () => {
    world.add(1);
    await world.replica({ loops: { node: false, lifecycle: false } });
    await world.until('it has the tags', () => isTagged(1));
  });

  it('shows in a run without effect what it would set, and sets nothing', async () => {
    world.add(1);
    world.add(2, desired);
    const replica = await world.replica({ dryRun: true });
    const expected = `instance aws:///eu-west-1a/${id(1)}: set tags team=a, cost=1`;
    await world.until('it is planned', () => replica.planned().length > 0);
    await world.pass(400_000);
    assert.deepEqual(replica.planned(), [expected]);
    assert.deepEqual(world.changes(), []);
  });
});
