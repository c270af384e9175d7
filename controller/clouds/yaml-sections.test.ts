import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { readSection } from './gcfg.ts';
import { readYamlSections } from './yaml-sections.ts';

describe('a YAML configuration as sections', () => {
  const known = new Map([
    ['global', new Set<string>()],
    ['vcenter', new Set<string>()],
  ]);
  const read = (text: string) => readYamlSections(text, 'f.yaml', known, new Set(['vcenter']));

  it('reads the keys, lists and subsections that its gcfg file has', () => {
    const file = read(
      'global:\n  caFile: /ca\n  list: [a, b]\n  none: []\n  number: 0123\nvcenter:\n  One.x: {insecureFlag: true}\n' +
        '  two:\n',
    );
    const global = readSection(file, 'global');
    assert.deepEqual([global.text('ca-file'), global.list('list'), global.list('none')], ['/ca', ['a', 'b'], []]);
    assert.equal(global.text('number'), '0123');
    assert.equal(readSection(file, 'vcenter', 'One.x').boolean('insecure-flag'), true);
    assert.deepEqual(
      file.sections.map(({ subsection }) => subsection),
      [undefined, 'One.x', 'two'],
    );
  });

  it('names file and key of what it cannot be, and shows no value', () => {
    for (const [text, expected] of [
      ['secret', /^f.yaml: the whole: expected keys and values$/],
      ['global: secret', /^f.yaml: global: expected keys and values$/],
      ['vcenter: {a: [secret]}', /^f.yaml: vcenter.a: expected keys and values$/],
      ['global: {a: {b: secret}}', /^f.yaml: global.a: expected a text or a list$/],
      ['global: "secret', /^f.yaml line 1: it is no YAML$/],
    ] as const)
      assert.throws(() => read(text), { name: 'CloudConfigError', message: expected });
  });

  it('names a section that is not known, and reads nothing in it', () => {
    const { sections } = read('loadBalancer: {tags: {a: b}}\nroute: x\n');
    assert.deepEqual(
      sections.map(({ name, entries }) => [name, entries]),
      [
        ['loadbalancer', []],
        ['route', []],
      ],
    );
  });
});
