/** Loads the libraries for PKCS#7 and JWT, which only clouds with signed documents need. */
export async function loadSignatures() {
  return import('./signatures.ts');
}
