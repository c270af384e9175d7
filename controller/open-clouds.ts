import { providerIdCodecs } from '../common/provider-id/registry.ts';
import { CloudConfigError, type CloudContext } from './clouds/cloud.ts';
import { cloudModules } from './clouds/registry.ts';
import type { ConfiguredCloud } from './nodes/configured-cloud.ts';
import { reportScope } from './nodes/scope-record.ts';
import type { CloudRequest } from './options/options.ts';

/**
 * Opens every cloud asked for; loads no code of others. A cloud without a controller half, or with nothing to authenticate with, is served report-only. Makes no call. Throws a CloudConfigError, also when two
 * configurations reach the same scope.
 */
export async function openClouds(
  requests: readonly CloudRequest[],
  context: CloudContext,
): Promise<readonly ConfiguredCloud[]> {
  const opened = await Promise.all(requests.map((request) => openCloud(request, context)));
  const scopes = new Set<string>();
  for (const { name, scope } of opened) {
    if (scopes.has(scope))
      throw new CloudConfigError(`--cloud-config of ${name}: two configurations reach the same scope ${scope}`);
    scopes.add(scope);
  }
  return opened;
}

async function openCloud({ name, config, selector }: CloudRequest, context: CloudContext): Promise<ConfiguredCloud> {
  const load = cloudModules.get(name);
  const cloud = load
    ? await (await load()).open(config, context)
    : { reportOnly: 'there is no controller half for it' };
  if (!('reportOnly' in cloud)) {
    context.log.info('cloud configured', { cloud: name, scope: cloud.scope });
    return { name, scope: cloud.scope, accepts: (providerID) => cloud.accepts(providerID), selector, api: cloud };
  }
  context.log.warn('cloud is report-only: nothing is looked up and nothing is deleted', {
    cloud: name,
    why: cloud.reportOnly,
  });
  const codec = providerIdCodecs.get(name);
  return {
    name,
    scope: reportScope(name),
    // The codec alone says which forms are its cloud's: some clouds have several schemes, and some none.
    accepts: (providerID) => codec?.parse(providerID) !== undefined,
    selector,
    api: undefined,
  };
}
