/** The kind of evidence of each cloud whose metadata service signs the identity of the VM. */
export const evidenceKinds = {
  /**
   * JSON `{document, signature}`: the instance identity document as served, and its `rsa2048` PKCS#7 signature in
   * base64.
   */
  aws: 'identity-document-rsa2048',
  /** The JWT of `instance/service-accounts/default/identity`, `format=full`. */
  gce: 'identity-token',
  /** The PKCS#7 of `/metadata/attested/document`, in base64. */
  azure: 'attested-document',
  /** JSON `{content, signature}`: a JSON text and its Ed25519 signature in base64. */
  simulated: 'signed-identity',
} as const;

export type EvidenceCloud = keyof typeof evidenceKinds;

export function isEvidenceCloud(cloud: string): cloud is EvidenceCloud {
  return Object.hasOwn(evidenceKinds, cloud);
}

/** 32 letters and digits: the maximum of Azure's nonce. */
export const challengeShape = /^[A-Za-z0-9]{32}$/;

/** The maximal length of the evidence in a report, in characters. */
export const maxEvidenceLength = 24 * 1024;

/** The audience of GCE's identity token for this challenge; tokens for other services never have it. */
export function evidenceAudience(challenge: string): string {
  return `https://mooring.dev/attestation/${challenge}`;
}
