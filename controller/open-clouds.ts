import { providerIdCodecs } from '../common/provider-id/registry.ts';
import { CloudConfigError, type CloudContext } from './clouds/cloud.ts';
import { cloudModules } from './clouds/registry.ts';
import type { ConfiguredCloud } from './nodes/configured-cloud.ts';
import { reportScope } from './nodes/scope-record.ts';
import type { CloudRequest } from './options/options.ts';
import { createReloadingCloud, type ReloadParts } from './reload/reloading-cloud.ts';

export type CloudReload = Pick<ReloadParts, 'readFile' | 'onReload'>;

/**
 * Opens every cloud asked for; loads no code of others. A cloud without a controller half, or with nothing to authenticate with, is served report-only. Makes no call. Throws a CloudConfigError, also when two
 * configurations reach the same scope.
 *
 * @param reload what it takes to open a cloud anew when its configuration or credential changes; undefined = they are read once
 */
export async function openClouds(
  requests: readonly CloudRequest[],
  context: CloudContext,
  reload?: CloudReload,
): Promise<readonly ConfiguredCloud[]> {
  const tries = await Promise.allSettled(requests.map((request) => openCloud(request, context, reload)));
  const opened = tries.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
  try {
    for (const one of tries) if (one.status === 'rejected') throw one.reason;
    assertApart(opened);
    return opened;
  } catch (error) {
    for (const { api } of opened) api?.close();
    throw error;
  }
}

function assertApart(opened: readonly ConfiguredCloud[]): void {
  const scopes = new Set<string>();
  for (const { name, scope } of opened) {
    if (scopes.has(scope))
      throw new CloudConfigError(`--cloud-config of ${name}: two configurations reach the same scope ${scope}`);
    scopes.add(scope);
  }
}

async function openCloud(
  request: CloudRequest,
  common: CloudContext,
  reload: CloudReload | undefined,
): Promise<ConfiguredCloud> {
  const { name, config, selector, requireAttestation, bindsByName } = request;
  const { allowUntagged = false, allowedSecurityGroups = [] } = request;
  const context = { ...common, allowUntagged, allowedSecurityGroups };
  const module = await cloudModules.get(name)?.();
  const opened = module ? await module.open(config, context) : { reportOnly: 'there is no controller half for it' };
  if (module && !('reportOnly' in opened)) {
    const { clock, random, log } = context;
    const cloud = reload
      ? await createReloadingCloud(
          { cloud: opened, config, open: (now) => module.open(now, context) },
          { clock, random, log, ...reload },
        )
      : opened;
    context.log.info('cloud configured', { cloud: name, scope: cloud.scope });
    const accepts = (providerID: string) => cloud.accepts(providerID);
    const byName = bindsByName ?? module.namesOnly ?? false;
    return { name, scope: cloud.scope, accepts, selector, requireAttestation, bindsByName: byName, api: cloud };
  }
  context.log.warn('cloud is report-only: nothing is looked up and nothing is deleted', {
    cloud: name,
    why: 'reportOnly' in opened ? opened.reportOnly : '',
  });
  const codec = providerIdCodecs.get(name);
  return {
    name,
    scope: reportScope(name),
    // The codec alone says which forms are its cloud's: some clouds have several schemes, and some none.
    accepts: (providerID) => codec?.parse(providerID) !== undefined,
    selector,
    requireAttestation,
    api: undefined,
  };
}
