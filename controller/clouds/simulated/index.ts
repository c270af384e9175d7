import { dirname, resolve } from 'node:path';
import { CloudConfigError, type CloudConfigFile } from '../cloud.ts';
import { type CloudParts, configuredModule } from '../configured-module.ts';
import { openConnections } from '../connections.ts';
import type { ReadText } from '../variables.ts';
import { parseSimulatedConfig } from './config.ts';
import { nodeLabels } from './load-balancer-annotations.ts';
import { createSimulatedCloud } from './simulated-cloud.ts';

/** The cloud of the sandbox, over HTTP. */
export const cloudModule = configuredModule('simulated', readConfig, openSimulated, {
  nodeLabels,
  configured: 'maxMembers of the cloud config',
});

type Config = Exclude<Awaited<ReturnType<typeof readConfig>>, { readonly reportOnly: string }>;

async function readConfig(file: CloudConfigFile | undefined, _env: unknown, readText: ReadText) {
  if (!file) return { reportOnly: 'no --cloud-config says where the simulated cloud is' };
  const config = parseSimulatedConfig(file);
  const { credential: source } = config;
  if (!source) return { reportOnly: `${file.path} has neither credential nor credentialFile` };
  const path = 'file' in source ? resolve(dirname(file.path), source.file) : undefined;
  const text = 'text' in source ? source.text : (await readText(path!))?.trim();
  if (text === undefined || ('file' in source && !/^[\x21-\x7e]+$/.test(text)))
    throw new CloudConfigError(
      `${file.path}: credentialFile: ${path}: expected a file with one credential in one line`,
    );
  return { config, credential: text, files: path === undefined ? [] : [path], warnings: [] };
}

function openSimulated({ config: { config, credential, files }, context }: CloudParts<Config>) {
  const { http, close } = openConnections(context, { maxSockets: 256 });
  const parts = { config, context, http, files, close, credential: async () => credential };
  const { scope, account, ...cloud } = createSimulatedCloud(parts);
  // The configuration names the project, and so does the path of every call.
  return { ...cloud, identify: async () => ({ scope, account }) };
}
