import assert from 'node:assert/strict';
import { createHmac, generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { before, describe, it } from 'node:test';
import { evidenceAudience } from '../../../common/attestation.ts';
import { gceVerifier } from './gce.ts';
import { codeOf } from './testing/code-of.ts';
import type { JsonWebKeys } from './trust.ts';

const challenge = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';
const nowMs = Date.parse('2026-03-04T05:06:07Z');
const base64 = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');

describe('the identity token of Compute Engine', () => {
  let key: KeyObject;
  let stranger: KeyObject;
  let published: JsonWebKeys;
  let secret: string;
  before(() => {
    const pair = generateKeyPairSync('rsa', { modulusLength: 2048 });
    key = pair.privateKey;
    stranger = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey;
    published = { keys: [{ ...pair.publicKey.export({ format: 'jwk' }), kid: 'one', alg: 'RS256', use: 'sig' }] };
    secret = pair.publicKey.export({ format: 'pem', type: 'spki' }).toString();
  });

  /** As the metadata server makes them with `format=full`. */
  const claims = {
    aud: evidenceAudience(challenge),
    azp: '117000000000000000000',
    email: '42-compute@developer.gserviceaccount.com',
    email_verified: true,
    exp: nowMs / 1000 + 3600,
    google: {
      compute_engine: {
        instance_creation_timestamp: 1_767_323_045,
        instance_id: '4520031799277581759',
        instance_name: 'node-1',
        project_id: 'my-project',
        project_number: 42,
        zone: 'us-west1-b',
      },
    },
    iat: nowMs / 1000,
    iss: 'https://accounts.google.com',
    sub: '117000000000000000000',
  };
  const engine = claims.google.compute_engine;

  function token(changes: object = {}, header: object = {}, by = key): string {
    const text = `${base64({ alg: 'RS256', kid: 'one', typ: 'JWT', ...header })}.${base64({ ...claims, ...changes })}`;
    return `${text}.${sign('RSA-SHA256', Buffer.from(text), by).toString('base64url')}`;
  }

  const verify = (document: string, challenges = [challenge]) =>
    gceVerifier({ keys: async () => published, now: () => nowMs }).verify(document, challenges);

  it('names project, zone, name and number of the VM, whichever of the challenges that hold it answers', async () => {
    const instance = {
      assurance: 'psat+fresh',
      cloud: 'gce',
      id: 'my-project/us-west1-b/node-1',
      incarnation: '4520031799277581759',
      zone: 'us-west1-b',
      region: 'us-west1',
    };
    assert.deepEqual(await verify(token()), instance);
    assert.deepEqual(await verify(token(), ['NEWERNEWERNEWERNEWERNEWERNEWER22', challenge]), instance);
    const domainScoped = token({ google: { compute_engine: { ...engine, project_id: 'example.com:p1' } } });
    assert.equal((await verify(domainScoped)).id, 'example.com:p1/us-west1-b/node-1');
  });

  it('refuses a token for another challenge, another service, or for us among others', async () => {
    for (const aud of [
      'https://mooring.dev/attestation/',
      'spire-gcp-node-attestor',
      [claims.aud, 'x'],
      [claims.aud],
    ]) {
      assert.equal(await codeOf(verify(token({ aud }))), 'NotFresh', String(aud));
    }
    assert.equal(await codeOf(verify(token(), [])), 'NotFresh');
  });

  it("refuses a person's or a service account's token, which the same keys sign", async () => {
    for (const google of [undefined, {}, null, 'x']) {
      assert.equal(await codeOf(verify(token({ google }))), 'NotAnInstance');
    }
  });

  it('refuses a token without signature, with a public key as secret, and by another key', async () => {
    const text = (alg: string) => `${base64({ alg, kid: 'one' })}.${base64(claims)}`;
    const mac = createHmac('sha256', secret).update(text('HS256')).digest('base64url');
    assert.equal(await codeOf(verify(`${text('none')}.`)), 'BadSignature');
    assert.equal(await codeOf(verify(`${text('HS256')}.${mac}`)), 'BadSignature');
    assert.equal(await codeOf(verify(token({}, {}, stranger))), 'BadSignature');
    assert.equal(await codeOf(verify(token({}, { kid: 'two' }, stranger))), 'UntrustedSigner');
    // Neither a key nor an address that the token itself names is used.
    const jwk = stranger.export({ format: 'jwk' });
    const jku = 'https://attacker.example/keys';
    assert.equal(await codeOf(verify(token({}, { jwk, jku, kid: 'two' }, stranger))), 'UntrustedSigner');
  });

  it('refuses an expired token, one of the future, one without a time, and another issuer', async () => {
    const seconds = nowMs / 1000;
    assert.equal(await codeOf(verify(token({ exp: seconds - 61 }))), 'Expired');
    assert.equal(await codeOf(verify(token({ iat: seconds + 120, exp: seconds + 3600 }))), 'Expired');
    assert.equal(await codeOf(verify(token({ iat: seconds - 4000 }))), 'Expired');
    assert.equal(await codeOf(verify(token({ exp: undefined }))), 'UntrustedSigner');
    assert.equal(await codeOf(verify(token({ iss: 'https://accounts.example' }))), 'UntrustedSigner');
  });

  it('refuses claims of other shapes', async () => {
    for (const wrong of [
      { instance_id: 'x' },
      { instance_id: 1 },
      { zone: 'a/b' },
      { project_id: '' },
      { instance_name: undefined },
    ]) {
      assert.equal(await codeOf(verify(token({ google: { compute_engine: { ...engine, ...wrong } } }))), 'Malformed');
    }
    for (const text of ['', 'x', 'a.b.c', `${token()}.x`]) assert.equal(await codeOf(verify(text)), 'Malformed');
  });
});
