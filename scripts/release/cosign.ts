import { execFile } from 'node:child_process';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

/** No service signs or logs anything: the key is enough. */
const noServices = { mediaType: 'application/vnd.dev.sigstore.signingconfig.v0.2+json' };

/**
 * Signs a file with a key of `cosign generate-key-pair`, whose password is in COSIGN_PASSWORD, and writes the bundle
 * `FILE.sigstore.json`. Throws what cosign says.
 *
 * @param cosign the program, version 3
 */
export async function signFile(cosign: string, key: string, file: string): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'mooring-signing-'));
  try {
    const config = join(folder, 'signing-config.json');
    await writeFile(config, JSON.stringify(noServices));
    const args = ['sign-blob', '--yes', `--key=${key}`, `--bundle=${file}.sigstore.json`, `--signing-config=${config}`];
    const env = { ...process.env, COSIGN_PASSWORD: process.env['COSIGN_PASSWORD'] ?? '' };
    await promisify(execFile)(cosign, [...args, file], { env });
    await chmod(`${file}.sigstore.json`, 0o644);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
