import assert from 'node:assert/strict';
import type { X509Certificate } from 'node:crypto';
import { before, describe, it } from 'node:test';
import { azureVerifier } from './azure.ts';
import { azureRoots, createIssuerFetch } from './azure-issuers.ts';
import { codeOf } from './testing/code-of.ts';
import { signMessage, type TestSigner, testSigner } from './testing/signed-documents.ts';

const challenge = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';
const vmId = '13f56399-bd52-4150-9748-7190aae1ff21';
const issuerUrl = 'http://www.microsoft.com/pkiops/certs/issuing.crt';

const moment = (ms: number) => {
  const [date = '', time = ''] = new Date(ms).toISOString().split('T');
  const [year = '', month, day] = date.split('-');
  return `${month}/${day}/${year.slice(2)} ${time.slice(0, 8)} -0000`;
};

/** As the metadata service writes it. */
const document = (changes: object = {}) =>
  JSON.stringify({
    licenseType: '',
    nonce: challenge,
    plan: { name: '', product: '', publisher: '' },
    sku: '22_04-lts-gen2',
    subscriptionId: '8D10DA13-8125-4BA9-A717-BF7490507B3D',
    timeStamp: { createdOn: moment(Date.now()), expiresOn: moment(Date.now() + 6 * 3_600_000) },
    vmId,
    ...changes,
  });

describe('the attested document of Azure', () => {
  let root: TestSigner;
  let issuing: TestSigner;
  let leaf: TestSigner;
  let fetched: string[] = [];
  before(async () => {
    root = await testSigner({ subject: 'CN=root', isAuthority: true });
    issuing = await testSigner({ subject: 'CN=issuing', issuer: root, isAuthority: true, serialNumber: '02' });
    leaf = await leafOf(issuing);
  });

  const leafOf = (issuer: TestSigner, changes: object = {}) =>
    testSigner({
      subject: 'CN=metadata.azure.com',
      issuer,
      serialNumber: '03',
      dnsNames: ['metadata.azure.com'],
      issuerUrl,
      ...changes,
    });

  function verifierOf(trusted: readonly X509Certificate[], served: X509Certificate | undefined = issuing.certificate) {
    fetched = [];
    const fetchIssuer = createIssuerFetch(async (url) => {
      fetched.push(url);
      return served?.raw;
    });
    return azureVerifier({ trusted, fetchIssuer, now: Date.now });
  }

  async function signed(text = document(), signer = leaf, inside = [signer.certificate]) {
    return signMessage(text, [signer], { inside });
  }

  const verify = (evidence: string, trusted = [root.certificate]) => verifierOf(trusted).verify(evidence, [challenge]);

  it('proves vmId and subscription with an intermediate that is included, fetched once, or given by file', async () => {
    const instance = {
      assurance: 'psat+fresh',
      cloud: 'azure',
      incarnation: vmId,
      idPrefix: '/subscriptions/8d10da13-8125-4ba9-a717-bf7490507b3d/',
    };
    assert.deepEqual(await verify(await signed(document(), leaf, [leaf.certificate, issuing.certificate])), instance);
    assert.deepEqual(fetched, []);
    assert.deepEqual(await verify(await signed(), [root.certificate, issuing.certificate]), instance);
    assert.deepEqual(fetched, []);
    const verifier = verifierOf([root.certificate]);
    for (let time = 0; time < 2; time += 1) {
      assert.deepEqual(await verifier.verify(await signed(), [challenge]), instance);
    }
    assert.deepEqual(fetched, [issuerUrl]);
  });

  it('uses the certificate of the signer, not the first one inside', async () => {
    const genuine = await signed(document(), leaf, [issuing.certificate, leaf.certificate]);
    assert.equal((await verify(genuine)).incarnation, vmId);
    const forger = await testSigner({ subject: 'CN=forger', serialNumber: '66' });
    const forged = await signed(document(), forger, [leaf.certificate, issuing.certificate, forger.certificate]);
    assert.equal(await codeOf(verify(forged)), 'UntrustedSigner');
    assert.equal(await codeOf(verify(await signed(document(), forger, [leaf.certificate]))), 'UntrustedSigner');
  });

  it('refuses a certificate of another name, also one that only resembles', async () => {
    for (const name of ['metadata.azure.com.attacker.example', 'xmetadata.azure.com', 'azure.com', '*.azure.com']) {
      const other = await leafOf(issuing, { dnsNames: [name] });
      assert.equal(await codeOf(verify(await signed(document(), other))), 'UntrustedSigner', name);
    }
    const below = await leafOf(issuing, { dnsNames: ['eastus.metadata.azure.com'] });
    assert.equal((await verify(await signed(document(), below))).incarnation, vmId);
  });

  it('refuses a chain to a root that is not trusted, and one through a certificate that is no authority', async () => {
    const ownRoot = await testSigner({ subject: 'CN=root', isAuthority: true });
    const ownIssuing = await testSigner({ subject: 'CN=issuing', issuer: ownRoot, isAuthority: true });
    const own = await leafOf(ownIssuing);
    const inside = [own, ownIssuing, ownRoot].map(({ certificate }) => certificate);
    assert.equal(await codeOf(verify(await signed(document(), own, inside))), 'UntrustedSigner');
    const underLeaf = await leafOf(leaf, { subject: 'CN=under', serialNumber: '44' });
    const both = [underLeaf.certificate, leaf.certificate, issuing.certificate];
    assert.equal(await codeOf(verify(await signed(document(), underLeaf, both))), 'UntrustedSigner');
  });

  it('refuses a certificate that has expired or does not hold yet', async () => {
    for (const changes of [{ notAfter: new Date(Date.now() - 1000) }, { notBefore: new Date(Date.now() + 60_000) }]) {
      const other = await leafOf(issuing, changes);
      const inside = [other.certificate, issuing.certificate];
      assert.equal(await codeOf(verify(await signed(document(), other, inside))), 'Expired');
    }
  });

  it("connects to no address that the sender's certificate names but Microsoft's", async () => {
    for (const url of [
      'http://169.254.169.254/latest/meta-data/',
      'http://www.microsoft.com.attacker.example/a.crt',
      'http://www.microsoft.com@10.0.0.1/a.crt',
      'http://www.microsoft.com:8080/a.crt',
      'ftp://www.microsoft.com/a.crt',
      'http://www.microsoft.com/a.crt?next=http://10.0.0.1',
    ]) {
      const other = await leafOf(issuing, { issuerUrl: url });
      assert.equal(await codeOf(verify(await signed(document(), other))), 'UntrustedSigner', url);
      assert.deepEqual(fetched, [], url);
    }
  });

  it('refuses an intermediate from there that did not sign the certificate, and waits when none comes', async () => {
    const other = await testSigner({ subject: 'CN=issuing', issuer: root, isAuthority: true, serialNumber: '02' });
    const evidence = await signed();
    const by = (served: X509Certificate | undefined) =>
      azureVerifier({
        trusted: [root.certificate],
        fetchIssuer: createIssuerFetch(async () => served?.raw),
        now: Date.now,
      }).verify(evidence, [challenge]);
    assert.equal(await codeOf(by(other.certificate)), 'UntrustedSigner');
    assert.equal(await codeOf(by(undefined)), 'KeysUnavailable');
  });

  it('refuses an altered document, another nonce, an expired document, and fields of other shapes', async () => {
    const inside = [leaf.certificate, issuing.certificate];
    const bytes = Buffer.from(await signed(document(), leaf, inside), 'base64');
    const at = bytes.indexOf(vmId);
    bytes[at] = (bytes[at] ?? 0) ^ 1;
    assert.equal(await codeOf(verify(bytes.toString('base64'))), 'BadSignature');
    const detached = await signMessage(document(), [leaf], { inside, detached: true });
    assert.equal(await codeOf(verify(detached)), 'Malformed');
    assert.equal(await codeOf(verify(await signMessage(document(), [leaf, leaf], { inside }))), 'Malformed');
    const codeFor = async (changes: object) => codeOf(verify(await signed(document(changes), leaf, inside)));
    assert.equal(await codeFor({ nonce: '1234567890' }), 'NotFresh');
    assert.equal(await codeFor({ timeStamp: { expiresOn: moment(Date.now() - 400_000) } }), 'Expired');
    assert.equal(await codeFor({ timeStamp: {} }), 'Malformed');
    assert.equal(await codeFor({ vmId: 'x' }), 'Malformed');
    assert.equal(await codeFor({ subscriptionId: undefined }), 'Malformed');
  });
});

it('finds the public roots of Azure among those that Node ships', () => {
  assert.deepEqual(
    azureRoots()
      .map(({ subject }) => /CN=(.*)$/.exec(subject)?.[1])
      .sort(),
    [
      'DigiCert Global Root G2',
      'DigiCert Global Root G3',
      'Microsoft ECC Root Certificate Authority 2017',
      'Microsoft RSA Root Certificate Authority 2017',
    ],
  );
});
