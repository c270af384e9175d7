import type { Instance } from '../../../common/instance.ts';

export function exampleInstance(changes: Partial<Instance> = {}): Instance {
  return {
    cloud: 'simulated',
    id: 'i-1',
    providerID: 'simulated://sim-1/i-1',
    incarnation: 'inc-1',
    name: 'node-1',
    zone: 'sim-1a',
    region: 'sim-1',
    type: 'sim.small',
    addresses: [{ type: 'InternalIP', address: '10.0.0.1' }],
    ...changes,
  };
}
