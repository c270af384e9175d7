import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { repositoryUri } from './provenance.ts';

describe('the repository in the provenance', () => {
  const remotes: readonly (readonly [remote: string, uri: string])[] = [
    ['https://github.com/example/mooring.git', 'https://github.com/example/mooring.git'],
    ['https://ci-token:glcbt-secret@gitlab.example.com/mooring.git', 'https://gitlab.example.com/mooring.git'],
    ['git@github.com:example/mooring.git', 'ssh://github.com/example/mooring.git'],
    ['ssh://git@github.com:22/example/mooring.git', 'ssh://github.com:22/example/mooring.git'],
    ['file:///srv/mooring.git', 'file:///srv/mooring.git'],
    ['/srv/mooring.git', 'file:///srv/mooring.git'],
  ];
  for (const [remote, uri] of remotes)
    it(`names no user and no password: ${remote.replace('secret', '...')}`, () => {
      assert.equal(repositoryUri(remote), uri);
    });

  it('refuses a remote that is no address, without showing it', () => {
    assert.throws(() => repositoryUri('https://to ken:secret@'), /^Error: the remote origin: expected a URL/);
  });
});
