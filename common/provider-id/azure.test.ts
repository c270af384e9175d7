import assert from 'node:assert/strict';
import { test } from 'node:test';
import { azure } from './azure.ts';

const subscription = '8d10da13-8125-4ba9-a717-bf7490507b3d';
const compute = `/subscriptions/${subscription}/resourceGroups/mc_prod/providers/Microsoft.Compute`;

test('stand-alone VMs, flexible and uniform scale sets', () => {
  for (const id of [
    `${compute}/virtualMachines/node-7`,
    `${compute}/virtualMachines/aks-pool_1a2b3c4d`,
    `${compute}/virtualMachineScaleSets/aks-Pool-vmss/virtualMachines/3`,
  ]) {
    assert.deepEqual(azure.parse(`azure://${id}`), { instanceId: id });
    assert.equal(azure.print({ instanceId: id }), `azure://${id}`);
  }
});

test('ignores the case of subscription, group and resource types', () => {
  const upper =
    `azure:///subscriptions/${subscription.toUpperCase()}/resourcegroups/MC_Prod` +
    '/PROVIDERS/microsoft.compute/VirtualMachines/node-7';
  assert.deepEqual(azure.parse(upper), { instanceId: `${compute}/virtualMachines/node-7` });
});

test('other resources, missing parts and other clouds are not accepted', () => {
  for (const text of [
    `azure://${compute}/disks/os`,
    `azure://${compute}/virtualMachines/`,
    `azure://${compute}/virtualMachines/a/extensions/b`,
    `azure://${compute}/virtualMachineScaleSets/set`,
    `azure://subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/virtualMachines/n`,
    `${compute}/virtualMachines/node-7`,
    'aws:///a/i-1',
  ]) {
    assert.equal(azure.parse(text), undefined, text);
  }
  assert.throws(() => azure.print({ instanceId: 'node-7' }), /"node-7", expected a VM's resource id/);
});
