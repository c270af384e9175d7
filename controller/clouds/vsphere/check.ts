import { createChecks } from '../checks.ts';
import type { CheckResult } from '../cloud.ts';
import type { ReaderOptions } from './reader.ts';
import type { Row } from './soap.ts';
import { readVirtualMachine, vmPaths } from './virtual-machine.ts';

/** Login, VMs and tags of one vCenter. A user that sees no VM is the usual mistake, and looks like an empty vCenter. */
export async function checkVCenter(
  { vcenter, readZones }: ReaderOptions['vcenters'][number],
  hasZones: boolean,
  signal: AbortSignal | undefined,
): Promise<readonly CheckResult[]> {
  const { server, user } = vcenter.config;
  const { results, prove } = createChecks();
  const about = (name: string) => ({ name: `${server}: ${name}`, neededFor: ['nodes'] as const });
  let rows: readonly Row[] = [];
  await prove(
    about('log in'),
    'see user, password and datacenters',
    async () => `${user} on vCenter ${await vcenter.identify()}`,
  );
  if (!results[0]?.ok) return results;
  await prove(about('read VMs'), `${user} needs System.Read on the VMs of the nodes`, async () => {
    rows = await vcenter.list(vmPaths, signal);
    const readable = rows.filter(({ values }) => values.has('summary.config.uuid') && values.has('runtime.powerState'));
    if (readable.length === 0) throw new Error(`no VM of ${rows.length} can be read`);
    return `${readable.length} VMs`;
  });
  if (!hasZones) return results;
  await prove(about('read tags'), `${user} needs System.Read on hosts, clusters and folders`, async () => {
    const rules = { families: [], roles: [] };
    const places = rows.slice(0, 50).map((row) => readVirtualMachine(row, rules)?.places ?? []);
    const zones = await readZones(vcenter, places, signal);
    const zoned = zones.filter(({ zone }) => zone !== undefined);
    return `${zoned.length} of ${places.length} VMs have a zone and region`;
  });
  return results;
}
