import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { sign } from './sign.ts';

const key = { id: 'FAKEACCESSKEYID00001', secret: 'fake-secret-of-the-access-key-0000000001' };
const url = 'https://ecs.cn-north-4.myhuaweicloud.com/v1/p/cloudservers/detail';
const options = { projectId: '0605767c6e80d5762fd6c00d5b6a3b4a', nowMs: Date.UTC(2026, 1, 8, 16, 2, 37, 412) };

// The signatures are those of the vendor's client for Python, 3.1.219.
describe('a signed request to Huawei Cloud', () => {
  it('signs the query as the vendor does, in whatever order and however encoded', () => {
    const request = { method: 'GET', url: new URL(`${url}?limit=2&name=a+b*~&id=1`), body: undefined };
    const { authorization, ...headers } = sign(request, key, options.projectId, options.nowMs);
    assert.deepEqual(headers, { 'x-sdk-date': '20260208T160237Z', 'x-project-id': options.projectId });
    assert.equal(
      authorization,
      'SDK-HMAC-SHA256 Access=FAKEACCESSKEYID00001, SignedHeaders=host;x-project-id;x-sdk-date, ' +
        'Signature=ad37259244cf6328e4ea2b5891cb775d6e943fc97fd38d28bc834e5b474aa9f4',
    );
  });

  it('signs the body and the token of a temporary key as the vendor does', () => {
    const request = { method: 'POST', url: new URL(url), body: '{"a":"ü"}' };
    const { authorization } = sign(request, { ...key, token: 'tok+en/=' }, options.projectId, options.nowMs);
    assert.match(
      authorization ?? '',
      /x-security-token, Signature=56cebb8c90cbc998835910dc59f2b1701e6ca37a92eae84cb0bb8f024883341f$/,
    );
  });
});
