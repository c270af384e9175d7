import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { fakeClock } from '../../common/testing/fake-clock.ts';
import { createDocuments } from './document.ts';
import type { DocumentType } from './driver.ts';
import type { LiveIndex } from './found-index.ts';
import type { Found, Owner } from './resource.ts';

describe('documents', () => {
  it('parses documents again when other resources tell another owner of their parts, and only then', async () => {
    const owner: Owner = { cluster: 'c', service: 'u1' };
    let holder: Owner | undefined;
    let version = 0;
    let parses = 0;
    const type: DocumentType = {
      document: 'group',
      name: () => 'main',
      all: async () => [{ name: 'main', doc: {}, version: '1' }],
      read: async () => undefined,
      parse() {
        parses += 1;
        return [{ kind: 'rule', id: 'r', key: 'r', ...(holder && { owner: holder }), status: 'ready', body: {} }];
      },
      basis: () => version,
      fold: (doc) => doc,
      write: () => assert.fail('nothing is written'),
      remove: () => assert.fail('nothing is removed'),
    };
    const shown = new Map<string, Found | undefined>();
    const index = { set: (identity: string, found: Found | undefined) => void shown.set(identity, found) };
    const core = { cluster: 'c', clock: fakeClock(), found: index as LiveIndex, operations: undefined as never };
    const documents = createDocuments([type], core);
    await documents.audit();
    documents.update();
    assert.deepEqual([parses, shown.get('rule r')?.owner], [1, undefined]);
    holder = owner;
    version += 1;
    documents.update();
    documents.update();
    assert.deepEqual([parses, shown.get('rule r')?.owner], [2, owner]);
  });
});
