import { type ProviderIdCodec, schemeOf } from './codec.ts';

const machine = new RegExp(
  String.raw`^/subscriptions/([^/\s]+)/resourceGroups/([^/\s]+)/providers/Microsoft\.Compute/` +
    String.raw`(?:virtualMachines/([^/\s]+)|virtualMachineScaleSets/([^/\s]+)/virtualMachines/([^/\s]+))$`,
  'i',
);

/**
 * `azure://` and the VM's resource id, hence three slashes. Resource Manager ignores case; upstream's agent writes
 * subscription and resource group in lower case, its controller only the group. Both name one instance: the id is the
 * resource id in the agent's form, and ids are compared without case. Only resources that are VMs are accepted.
 */
export const azure: ProviderIdCodec = {
  cloud: 'azure',
  scheme: 'azure',
  parse(text) {
    if (schemeOf(text) !== 'azure') return undefined;
    const instanceId = azureResourceId(text.slice('azure://'.length));
    return instanceId === undefined ? undefined : { instanceId };
  },
  print({ instanceId }) {
    const id = azureResourceId(instanceId);
    if (id === undefined)
      throw new RangeError(`instanceId: ${JSON.stringify(instanceId)}, expected a VM's resource id`);
    return `azure://${id}`;
  },
};

/** A VM's resource id in canonical form; undefined when the text is none. */
export function azureResourceId(text: string): string | undefined {
  const found = machine.exec(text);
  if (found === null) return undefined;
  const [, subscription = '', group = '', name, set, number] = found;
  const vm =
    name === undefined ? `virtualMachineScaleSets/${set}/virtualMachines/${number}` : `virtualMachines/${name}`;
  const resourceGroup = `/subscriptions/${subscription.toLowerCase()}/resourceGroups/${group.toLowerCase()}`;
  return `${resourceGroup}/providers/Microsoft.Compute/${vm}`;
}
