import { cloudSuite } from '../suite/cloud-suite.ts';
import { azureCapabilities, azureWorld } from './azure-world.ts';

cloudSuite({
  name: 'azure, on a fake one',
  capabilities: azureCapabilities,
  open: async () => azureWorld(),
});

const { loadBalancers, routes: _, ...others } = azureCapabilities;

for (const [kind, first] of [
  ['alone', 6],
  // The model of the scale set is one more.
  ['uniform', 7],
] as const)
  cloudSuite({
    name: `azure, on a fake one, with network interfaces in its pools (${kind})`,
    capabilities: {
      ...others,
      routes: undefined,
      loadBalancers: loadBalancers && {
        ...loadBalancers,
        writesMembersEach: true,
        calls: { first, further: 3, member: 1, removal: first },
      },
    },
    open: async () =>
      azureWorld({
        kinds: [kind],
        families: ['IPv4', 'IPv6'],
        json: { loadBalancerBackendPoolConfigurationType: '', routeTableName: '' },
      }),
  });
