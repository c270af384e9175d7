import { readFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { CloudConfigError, type CloudConfigFile, type CloudModule } from '../cloud.ts';
import { openConnections } from '../connections.ts';
import { parseSimulatedConfig } from './config.ts';
import { nodeLabels } from './load-balancer-annotations.ts';
import { createSimulatedCloud } from './simulated-cloud.ts';

/** The cloud of the sandbox, over HTTP. */
export const cloudModule: CloudModule = {
  name: 'simulated',
  memberChoice: { nodeLabels, configured: 'maxMembers of the cloud config' },
  async open(file, context) {
    if (!file) return { reportOnly: 'no --cloud-config says where the simulated cloud is' };
    const config = parseSimulatedConfig(file);
    if (!config.credential) return { reportOnly: `${file.path} has neither credential nor credentialFile` };
    const source = config.credential;
    const credential = 'text' in source ? source.text : await readCredential(file, source.file);
    const files = 'text' in source ? [] : [pathOf(file, source.file)];
    const { http, close } = openConnections(context, { maxSockets: 256 });
    const { scope, account, ...cloud } = createSimulatedCloud({
      config,
      context,
      http,
      files,
      close,
      credential: async () => credential,
    });
    // The configuration names the project, and so does the path of every call.
    return { ...cloud, identify: async () => ({ scope, account }) };
  },
};

const pathOf = ({ path }: CloudConfigFile, file: string) => resolve(dirname(path), file);

async function readCredential(config: CloudConfigFile, file: string): Promise<string> {
  try {
    const text = (await readFile(pathOf(config, file), 'utf8')).trim();
    if (!/^[\x21-\x7e]+$/.test(text)) throw new Error(`${file}: expected one credential in one line`);
    return text;
  } catch (error) {
    throw new CloudConfigError(`${config.path}: credentialFile: ${error instanceof Error ? error.message : error}`);
  }
}
