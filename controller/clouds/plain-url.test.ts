import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isPlainUrl } from './plain-url.ts';

test('a URL is plain when nothing of it may be a secret', () => {
  for (const url of ['http://10.0.0.1', 'https://[fd00::1]:8443/api/v1/', 'HTTPS://cloud.example'])
    assert.equal(isPlainUrl(url), true, url);
  const others = ['', 'cloud.example', 'ftp://cloud.example', 'https://u@c.example', 'https://:p@c.example'];
  for (const url of [...others, 'https://c.example?token=t', 'https://c.example/#t'])
    assert.equal(isPlainUrl(url), false, url);
});
