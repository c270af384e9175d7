import { cloudSuite } from '../suite/cloud-suite.ts';
import { alibabaCapabilities, alibabaWorld, networkCapabilities } from './alibaba-world.ts';

cloudSuite({
  name: 'alibaba, on a fake one',
  capabilities: alibabaCapabilities,
  open: async () => alibabaWorld(),
});

const tables = ['vtb-bp1first', 'vtb-bp1second', 'vtb-bp1third'];

cloudSuite({
  name: 'alibaba, on a fake one with several route tables that are often busy',
  capabilities: { ...alibabaCapabilities, loadBalancers: undefined },
  open: async () =>
    alibabaWorld({
      env: { ROUTE_TABLE_IDS: tables.join() },
      prepare(fake) {
        fake.routeTables.clear();
        for (const table of tables) fake.routeTables.set(table, []);
        fake.busyMs = 1500;
      },
    }),
});

cloudSuite({
  name: 'alibaba, on a fake one with network load balancers',
  capabilities: networkCapabilities,
  open: async () => alibabaWorld({ isNetwork: true }),
});
