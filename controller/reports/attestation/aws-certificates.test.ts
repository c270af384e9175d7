import assert from 'node:assert/strict';
import { it } from 'node:test';
import { awsCertificates } from './aws-certificates.ts';

it('ships self-signed AWS certificates with RSA 2048, one per region, with a long validity', () => {
  const byRegion = awsCertificates();
  const fingerprints = new Set<string>();
  for (const [region, certificates] of byRegion) {
    assert.match(region, /^[a-z]{2}-[a-z]+-\d$/);
    for (const certificate of certificates) {
      assert.ok(certificate.verify(certificate.publicKey), region);
      assert.match(certificate.subject, /O=Amazon Web Services LLC$/, region);
      assert.deepEqual(certificate.publicKey.asymmetricKeyDetails?.modulusLength, 2048, region);
      assert.ok(certificate.validToDate.getTime() > Date.parse('2190-01-01'), region);
      fingerprints.add(certificate.fingerprint256);
    }
  }
  assert.equal(fingerprints.size, byRegion.size);
  assert.ok(byRegion.has('us-east-1') && byRegion.has('eu-west-1'));
});
