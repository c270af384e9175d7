import { annotations, labels } from '../../../common/well-known.ts';
import { providerIdOf } from '../actors/machine-report.ts';
import type { Machines } from '../actors/machines.ts';
import type { Truth } from '../actors/truth.ts';
import type { Scenario } from '../engine/scenario.ts';
import { conditionOf, type NodeObject, nodeOf } from './node-object.ts';

/** Every difference between the Nodes and their machines, in words; empty = the world has converged. */
export function unmetNodes(truth: Truth, machines: Machines, scenario: Scenario): string[] {
  const unmet: string[] = [];
  const standing = new Set<string>();
  for (const machine of machines.all) {
    const { name } = machine;
    const vm = truth.vm(machine.vmId);
    const node = nodeOf(truth.node(name));
    standing.add(name);
    const say = (what: string) => unmet.push(`${name}: ${what}`);
    if (node !== undefined && node.uid === machine.nodeUid)
      for (const reason of passing(node)) say(`still says ${reason}, though nothing fails any more`);
    if (vm === undefined || vm.power === 'terminated') {
      if (node === undefined || machine.nodeUid !== node.uid) continue;
      // That its cloud shows the end of the VM proves that it was there.
      const isShown =
        vm !== undefined &&
        node.uninitialized &&
        node.providerID === providerIdOf(machine, vm) &&
        scenario.clouds.some(({ region, reportOnly }) => region === vm.region && reportOnly === undefined);
      // Nothing proves that the others ever had an instance here: they wait for a person, and say so.
      const stays = (node.scope === '' && !isShown) || machine.otherCloud !== '';
      if (!stays) say(`its VM is gone, the Node is not (${shown(node)})`);
      else if (
        scenario.clouds.length === 1 &&
        node.uninitialized &&
        conditionOf(node, 'cloudInitialized') === undefined
      )
        say('its VM is gone, it is kept, and nothing says why');
      else if (
        machine.otherCloud === '' &&
        node.providerID !== '' &&
        conditionOf(node, 'instanceMissing')?.status !== 'True'
      )
        say('its VM is gone, it is kept, and is not called missing');
      continue;
    }
    if (node === undefined) {
      if (vm.power === 'running') say('its VM runs, and there is no Node');
      continue;
    }
    if (machine.agentless && vm.smbiosUuid === undefined && !machine.knowsProviderID) {
      // Its name alone says which VM it runs on, and that is no proof.
      const reason = conditionOf(node, 'cloudInitialized')?.reason;
      if (!node.uninitialized) say('bound to a VM by its name alone');
      else if (scenario.clouds.length === 1 && reason !== 'AwaitingReport') say(`waits, and says ${reason}`);
      continue;
    }
    if (node.uninitialized) say(`not initialised (${shown(node)})`);
    else {
      if (node.podCIDR === '') say('no pod range');
      const providerID = providerIdOf(machine, vm);
      if (node.providerID !== providerID) say(`providerID ${node.providerID}, expected ${providerID}`);
      const initialized = conditionOf(node, 'cloudInitialized');
      if (initialized?.status !== 'True') say(`CloudInitialized is ${initialized?.status} ${initialized?.message}`);
      const wanted = vm.interfaces.flatMap(({ internal, external }) => [...internal, ...external]);
      const has = new Set(node.addresses.map(({ address }) => address));
      const told = new Set([...wanted, vm.hostname, name, ...vm.internalDns, ...vm.externalDns]);
      for (const each of wanted) if (!has.has(each)) say(`address ${each} is missing`);
      for (const each of has) if (!told.has(each)) say(`address ${each} is left over`);
      if (node.labels[labels.zone] !== vm.zone) say(`zone ${node.labels[labels.zone]}, expected ${vm.zone}`);
      if (node.labels[labels.region] !== vm.region) say(`region ${node.labels[labels.region]}, expected ${vm.region}`);
      const byPerson = node.labels[labels.instanceType] !== node.labels[labels.instanceTypeBeta];
      if (machine.otherCloud === '' && !byPerson && node.labels[labels.instanceType] !== vm.type)
        say(`type ${node.labels[labels.instanceType]}, expected ${vm.type}`);
    }
    if (machine.otherCloud !== '') continue;
    if (vm.power === 'running' && node.shutdown) say('its VM runs, the shutdown taint is on');
    if (conditionOf(node, 'instanceMissing')?.status === 'True')
      say(`its VM is there and is called missing (${shown(node)})`);
    if (vm.power === 'stopped' && !node.shutdown) say('its VM is off, the shutdown taint is not on');
    // It waits for room in the budget.
    if (vm.power === 'stopped' && scenario.outOfServiceTaint && !node.outOfService)
      say('its VM is off, the out-of-service taint is not on');
  }
  return unmet;
}

/** Reasons on it that only a failure gives. */
function passing(node: NodeObject): string[] {
  return (['cloudInitialized', 'instanceMissing'] as const).flatMap((type) => {
    const { status, reason } = conditionOf(node, type) ?? { status: '', reason: '' };
    const failing = type === 'instanceMissing' ? status === 'True' : status === 'False';
    return failing && /^(AwaitingCloud|CloudUnknown|LifeUnknown|WriteRefused)$/.test(reason) ? [reason] : [];
  });
}

/** Whether some VM is on its way to another state by itself. */
export function inMotion(truth: Truth, machines: Machines, scenario: Scenario): boolean {
  return machines.all.some(({ vmId }) => {
    const vm = truth.vm(vmId);
    const power = vm?.power;
    // Its end is announced, and comes.
    if (power === 'running' && vm?.notices.length !== 0) return true;
    if (power === 'terminated') return scenario.forgetAfterMs < 3_600_000;
    return power !== undefined && power !== 'running' && power !== 'stopped';
  });
}

/**
 * Nodes that wait without a stated reason: promise 12. With several clouds a Node that none of them claims may be
 * foreign, and gets no writes.
 */
export function silentWaits(truth: Truth, scenario: Scenario): string[] {
  if (scenario.clouds.length > 1) return [];
  return truth
    .nodes()
    .map((value) => nodeOf(value))
    .filter((node) => node.uninitialized && !truth.foreign.has(node.uid))
    .filter((node) => (conditionOf(node, 'cloudInitialized')?.reason ?? '') === '')
    .map(({ name }) => name);
}

function shown(node: NonNullable<ReturnType<typeof nodeOf>>): string {
  const parts = (['cloudInitialized', 'instanceMissing'] as const).flatMap((type) => {
    const condition = conditionOf(node, type);
    return condition === undefined ? [] : [`${type} ${condition.status} ${condition.reason}: ${condition.message}`];
  });
  const paused = node.annotations[annotations.paused] === undefined ? [] : ['paused'];
  return [...parts, ...paused].join('; ') || 'no condition';
}
