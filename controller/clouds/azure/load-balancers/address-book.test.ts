import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Found } from '../../../engine/resource.ts';
import { createAddressBook } from './address-book.ts';
import { kindNames, type PublicAddress } from './balancer.ts';

const owner = { cluster: 'c', service: 's' };

function address(id: string, ip: string, resourceGroup = 'rg'): Found<PublicAddress> {
  const body = { name: id, resourceGroup, tags: {}, label: undefined, usedBy: undefined, etag: '', wire: {} };
  return { kind: kindNames.address, id, key: 'main', owner, status: 'ready', address: ip, body };
}

describe('the address book of Azure', () => {
  it('keeps a public address that was made while a list ran, and forgets what the list does not show', () => {
    const book = createAddressBook(() => 0);
    const groups = new Set(['rg']);
    book.notePublic([address('old', '203.0.113.1'), address('kept', '203.0.113.2')]);
    const began = book.version('public');
    book.notePublic([address('new', '203.0.113.3')]);
    book.notePublic([address('kept', '203.0.113.2')], { began, groups });
    assert.deepEqual(
      ['old', 'kept', 'new'].map((id) => book.publicOwnerOf(id)),
      [undefined, owner, owner],
    );
    book.notePublic([], { began: book.version('public'), groups });
    assert.equal(book.publicOwnerOf('new'), undefined);
  });

  it('keeps the public addresses of resource groups that were not listed', () => {
    const book = createAddressBook(() => 0);
    book.notePublic([address('one', '203.0.113.1'), address('other', '203.0.113.2', 'edge')]);
    book.notePublic([], { began: book.version('public'), groups: new Set(['rg']) });
    assert.deepEqual(
      ['one', 'other'].map((id) => book.publicOwnerOf(id)),
      [undefined, owner],
    );
  });
});
