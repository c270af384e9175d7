import { createChecks } from '../checks.ts';
import type { CheckResult } from '../cloud.ts';
import type { OvirtConfig } from './config.ts';
import type { Engine } from './engine.ts';
import { readPlaces } from './places.ts';

/** Login, VMs and the names of places. A user that sees no VM is the usual mistake, and looks like an empty engine. */
export async function checkOvirt(
  { user, search, zone, region }: OvirtConfig,
  engine: Engine,
  { identify, signal }: { readonly identify: () => Promise<string>; readonly signal: AbortSignal | undefined },
): Promise<readonly CheckResult[]> {
  const { results, prove } = createChecks();
  await prove({ name: 'log in' }, 'see url, cafile, username (with its profile: user@internal) and password', identify);
  await prove({ name: 'read VMs' }, `${user} needs a role with login on the data centers of the nodes`, async () => {
    const { length } = await engine.vms(search ?? '', signal);
    if (length === 0) throw new Error('no VM can be seen');
    return `${length} VMs`;
  });
  if (zone === undefined && region === undefined) return results;
  await prove({ name: 'read places' }, `${user} needs the same role on hosts and clusters, see [Labels]`, async () => {
    const placeOf = await readPlaces(engine, { zone, region }, signal);
    const vms = await engine.vms(search ?? '', signal);
    const placed = vms.filter((vm) => Object.keys(placeOf(vm)).length > 0);
    if (placed.length === 0) throw new Error(`no place of ${vms.length} VMs can be seen`);
    return `${placed.length} of ${vms.length} VMs have a zone or region`;
  });
  return results;
}
