import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { canonicalQuery, signedHeaders } from './signing.ts';

describe('signatures of Alibaba Cloud', () => {
  it("signs the vendor's own example with the vendor's value", () => {
    const url = new URL('https://ecs.cn-shanghai.aliyuncs.com/');
    url.searchParams.append('RegionId', 'cn-shanghai');
    url.searchParams.append('ImageId', 'win2019_1809_x64_dtc_zh-cn_40G_alibase_20230811.vhd');
    const headers = signedHeaders(
      {
        method: 'POST',
        url,
        action: 'RunInstances',
        version: '2014-05-26',
        nowMs: Date.parse('2023-10-26T10:22:32Z'),
        nonce: '3156853299f313e23d1673dc12e1703d',
      },
      { id: 'YourAccessKeyId', secret: 'YourAccessKeySecret' },
    );
    const names = 'host;x-acs-action;x-acs-content-sha256;x-acs-date;x-acs-signature-nonce;x-acs-version';
    const signature = '06563a9e1b43f5dfe96b81484da74bceab24a1d853912eee15083a6f0f3283c0';
    assert.equal(
      headers['authorization'],
      `ACS3-HMAC-SHA256 Credential=YourAccessKeyId,SignedHeaders=${names},Signature=${signature}`,
    );
  });

  it('escape what RFC 3986 reserves, and sort by name', () => {
    const query = new URLSearchParams({ b: "it's (a) *", 'Tag.1.Key': 'ä/~', A: '' });
    assert.equal(canonicalQuery(query), 'A=&Tag.1.Key=%C3%A4%2F~&b=it%27s%20%28a%29%20%2A');
  });
});
