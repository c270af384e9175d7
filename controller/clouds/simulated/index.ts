import { readFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { createHttp } from '../../../common/process/http.ts';
import { CloudConfigError, type CloudModule } from '../cloud.ts';
import { parseSimulatedConfig } from './config.ts';
import { createSimulatedCloud } from './simulated-cloud.ts';

/** The cloud of the sandbox, over HTTP. A `credentialFile` is read before every call, so that a renewed one is used at once. */
export const cloudModule: CloudModule = {
  name: 'simulated',
  async open(file, context) {
    if (!file) return { reportOnly: 'no --cloud-config says where the simulated cloud is' };
    const config = parseSimulatedConfig(file);
    if (!config.credential) return { reportOnly: `${file.path} has neither credential nor credentialFile` };
    const credential = credentialReader(config.credential, dirname(file.path));
    try {
      await credential();
    } catch (error) {
      throw new CloudConfigError(`${file.path}: credentialFile: ${error instanceof Error ? error.message : error}`);
    }
    // As many as Services and routes are worked on at once: a call that waits here was permitted too early.
    const pool = { keepAlive: true, maxSockets: 64 };
    const { http, close } = createHttp({ clock: context.clock, plain: pool, tls: pool });
    return createSimulatedCloud({ config, context, http, credential, close });
  },
};

function credentialReader(from: { text: string } | { file: string }, folder: string): () => Promise<string> {
  if ('text' in from) return async () => from.text;
  const path = resolve(folder, from.file);
  return async () => {
    const text = (await readFile(path, 'utf8')).trim();
    if (!/^[\x21-\x7e]+$/.test(text)) throw new Error(`${path}: expected one credential in one line`);
    return text;
  };
}
