import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { labelsFromTags, parseTagLabelRule, tagLabelChange } from './tag-labels.ts';

const rules = [{ tagPrefix: 'k8s-label/', labelPrefix: 'example.com/' }];
const validValue = /^([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$/;

describe('rules for labels from tags', () => {
  it('parses a prefix of tags and a domain', () => {
    assert.deepEqual(parseTagLabelRule('k8s-label/=example.com/'), rules[0]);
    assert.deepEqual(parseTagLabelRule('node_=a.b-c.example/'), { tagPrefix: 'node_', labelPrefix: 'a.b-c.example/' });
  });

  for (const text of [
    '',
    'a',
    '=example.com/',
    'a=',
    'a=example.com',
    'a=/',
    'a=Example.com/',
    'a b=example.com/',
    'a=x//',
  ])
    it(`refuses the rule ${JSON.stringify(text)}`, () => assert.equal(parseTagLabelRule(text), undefined));

  for (const reserved of [
    'kubernetes.io/',
    'node.kubernetes.io/',
    'topology.k8s.io/',
    'k8s.io/',
    'mooring.dev/',
    'x.mooring.dev/',
  ])
    it(`refuses a rule that would write labels of ${reserved}`, () =>
      assert.equal(parseTagLabelRule(`a=${reserved}`), undefined));
});

describe('labels from tags', () => {
  it('takes the tags with the prefix, with values that Kubernetes accepts', () => {
    const tags = {
      'k8s-label/team': 'data platform!',
      'k8s-label/tier': '',
      team: 'other',
      'k8s-label/': 'x',
      'k8s-label/a b': 'x',
    };
    assert.deepEqual(labelsFromTags({ tags }, rules), { 'example.com/team': 'data-platform', 'example.com/tier': '' });
  });

  it('returns undefined where the source shows no tags', () => assert.equal(labelsFromTags({}, rules), undefined));

  it('adds labels, changes them with their tag, and removes them with it', () => {
    const added = tagLabelChange({ 'example.com/team': 'data' }, {}, undefined, rules);
    assert.deepEqual(added, { labels: { 'example.com/team': 'data' }, record: 'example.com/team' });
    const held = { 'example.com/team': 'data' };
    assert.equal(tagLabelChange({ 'example.com/team': 'data' }, held, 'example.com/team', rules), undefined);
    const changed = tagLabelChange({ 'example.com/team': 'web' }, held, 'example.com/team', rules);
    assert.deepEqual(changed, { labels: { 'example.com/team': 'web' }, record: 'example.com/team' });
    assert.deepEqual(tagLabelChange({}, held, 'example.com/team', rules), {
      labels: { 'example.com/team': null },
      record: null,
    });
  });

  it('leaves a label alone that another client has set', () => {
    const held = { 'example.com/team': 'mine' };
    assert.equal(tagLabelChange({ 'example.com/team': 'data' }, held, undefined, rules), undefined);
    assert.equal(tagLabelChange({}, held, undefined, rules), undefined);
  });

  it('never changes a label outside the prefix, whatever tags and record say', () => {
    const text = fc.oneof(
      fc.string(),
      fc.constantFrom('kubernetes.io/role', 'example.com/team', 'team', 'k8s-label/x', '__proto__'),
    );
    fc.assert(
      fc.property(
        fc.dictionary(text, fc.string()),
        fc.dictionary(text, fc.string()),
        fc.array(text),
        (tags, held, record) => {
          const prefixed = Object.fromEntries(Object.entries(tags).map(([key, value]) => [`k8s-label/${key}`, value]));
          const desired = labelsFromTags({ tags: { ...tags, ...prefixed } }, rules)!;
          const change = tagLabelChange(desired, held, record.join(','), rules);
          for (const [label, value] of Object.entries(change?.labels ?? {})) {
            assert.ok(label.startsWith('example.com/'), label);
            if (value !== null) assert.match(value, validValue);
          }
          for (const label of change?.record?.split(',') ?? []) assert.ok(label.startsWith('example.com/'), label);
        },
      ),
    );
  });
});
