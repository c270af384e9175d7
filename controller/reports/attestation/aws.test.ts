import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { evidenceKinds } from '../../../common/attestation.ts';
import { awsVerifier } from './aws.ts';
import { codeOf } from './testing/code-of.ts';
import { broken, signMessage, type TestSigner, testSigner } from './testing/signed-documents.ts';

/** As EC2 serves it, line breaks and all. */
const document = `{
  "accountId" : "111122223333",
  "architecture" : "x86_64",
  "availabilityZone" : "eu-west-3a",
  "billingProducts" : null,
  "devpayProductCodes" : null,
  "marketplaceProductCodes" : null,
  "imageId" : "ami-0123456789abcdef0",
  "instanceId" : "i-0aa11bb22cc33dd44",
  "instanceType" : "m7i.large",
  "kernelId" : null,
  "pendingTime" : "2026-01-02T03:04:05Z",
  "privateIp" : "10.20.0.7",
  "ramdiskId" : null,
  "region" : "eu-west-3",
  "version" : "2017-09-30"
}`;

describe('the evidence of EC2', () => {
  let region: TestSigner;
  let other: TestSigner;
  let expired: TestSigner;
  const subject = 'C=US, ST=Washington State, L=Seattle, O=Amazon Web Services LLC';
  before(async () => {
    region = await testSigner({ subject });
    other = await testSigner({ subject });
    expired = await testSigner({ subject, notAfter: new Date(Date.now() - 1000), serialNumber: '0909' });
  });

  function verify(evidence: string, pinned: readonly TestSigner[] = [region], known = 'eu-west-3') {
    const verifier = awsVerifier({
      certificatesOf: (name) => (name === known ? pinned.map(({ certificate }) => certificate) : []),
      now: Date.now,
    });
    assert.deepEqual([verifier.cloud, verifier.kind], ['aws', evidenceKinds.aws]);
    return verifier.verify(evidence, ['unused']);
  }

  const evidence = (text: string, signature: string) =>
    JSON.stringify({ document: text, signature: broken(signature) });

  async function refused(text: string, signature: string, pinned?: readonly TestSigner[], known?: string) {
    return codeOf(verify(evidence(text, signature), pinned, known));
  }

  it('names the instance of a document that the certificate of its region signed', async () => {
    const instance = {
      assurance: 'psat+doc',
      cloud: 'aws',
      id: 'i-0aa11bb22cc33dd44',
      incarnation: 'i-0aa11bb22cc33dd44',
      zone: 'eu-west-3a',
      region: 'eu-west-3',
    };
    assert.deepEqual(await verify(evidence(document, await signMessage(document, [region]))), instance);
    const detached = await signMessage(document, [region], { detached: true });
    assert.deepEqual(await verify(evidence(document, detached)), instance);
    const signature = await signMessage(document, [region]);
    assert.deepEqual(await verify(evidence(document, signature), [other, region]), instance);
  });

  it('refuses a document that is altered by one byte, whether the signature holds its content or not', async () => {
    const altered = document.replace('i-0aa1', 'i-0ab1');
    for (const detached of [true, false]) {
      const signature = await signMessage(document, [region], { detached });
      assert.equal(await refused(altered, signature), 'BadSignature');
      assert.equal(await refused(`${document} `, signature), 'BadSignature');
    }
  });

  it("refuses another instance's genuine signature beside the document", async () => {
    const genuine = await signMessage(document.replace('i-0aa1', 'i-0bb1'), [region]);
    assert.equal(await refused(document, genuine), 'BadSignature');
  });

  it('refuses another key under the same issuer and serial number, also when its certificate is inside', async () => {
    const signature = await signMessage(document, [other], { inside: [other.certificate] });
    assert.equal(await refused(document, signature), 'BadSignature');
  });

  it('refuses a signer that is none of the pinned certificates', async () => {
    const stranger = await testSigner({ subject: 'CN=stranger', serialNumber: '77' });
    const signature = await signMessage(document, [stranger], { inside: [stranger.certificate] });
    assert.equal(await refused(document, signature), 'UntrustedSigner');
  });

  it('refuses two signers and none', async () => {
    assert.equal(await refused(document, await signMessage(document, [region, other])), 'Malformed');
    assert.equal(await refused(document, await signMessage(document, [])), 'Malformed');
  });

  it('refuses a document without a region, of a region without a certificate, and an expired certificate', async () => {
    const without = document.replace('"region"', '"place"');
    assert.equal(await refused(without, await signMessage(without, [region])), 'Malformed');
    const signature = await signMessage(document, [region]);
    assert.equal(await refused(document, signature, [region], 'eu-west-1'), 'UnknownRegion');
    const old = await signMessage(document, [expired]);
    assert.equal(await refused(document, old, [expired]), 'Expired');
  });

  it('refuses what is no evidence at all', async () => {
    const signature = await signMessage(document, [region]);
    for (const text of [
      '',
      'x',
      '[]',
      '{}',
      JSON.stringify({ document }),
      JSON.stringify({ signature }),
      JSON.stringify({ document, signature: 'AAAA' }),
      JSON.stringify({ document, signature: signature.slice(0, 400) }),
      JSON.stringify({ document, signature: '-----BEGIN PKCS7-----' }),
    ]) {
      assert.equal(await codeOf(verify(text)), 'Malformed', text.slice(0, 40));
    }
    const fargate = document.replace('i-0aa11bb22cc33dd44', 'fargate-10.0.0.1');
    assert.equal(await refused(fargate, await signMessage(fargate, [region])), 'Malformed');
  });
});
