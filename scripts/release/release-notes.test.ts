import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { releaseNotes } from './release-notes.ts';

const changelog =
  '# Changelog\n\n## [Unreleased]\n\n- later\n\n## [1.2.0] - 2026-11-23\n\n- now\n\n## [1.1.0]\n\n- old\n';

describe('the notes of a release', () => {
  it('takes the section of its version', () => {
    const { title, text } = releaseNotes(changelog, '1.2.0');
    assert.deepEqual([title, text], ['1.2.0', '## [1.2.0] - 2026-11-23\n\n- now\n']);
  });

  it('takes what is unreleased while the version has no section', () => {
    assert.deepEqual(releaseNotes(changelog, '1.3.0').title, 'Unreleased');
  });

  it('refuses a changelog that has neither', () => {
    assert.throws(() => releaseNotes('# Changelog\n', '1.3.0'), /has no section \[1\.3\.0\]/);
  });
});
