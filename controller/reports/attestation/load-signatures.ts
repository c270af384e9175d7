/** Loads the libraries for PKCS#7 and JWT; a controller of clouds without such documents never does. */
export async function loadSignatures() {
  return import('./signatures.ts');
}
