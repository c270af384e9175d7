import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { type FakeAnswer, type FakeCall, listen } from '../fake-http.ts';
import type { LifeCloud, LifeMachine } from '../life/life-cloud.ts';

/** The fake of the example package, as far as it is driven here. */
interface ExampleApi {
  readonly servers: Map<string, { readonly id: string; status: 'on' | 'off'; publicIp: string }>;
  readonly balancers: ReadonlyMap<string, ExampleBalancer>;
  readonly calls: readonly FakeCall[];
  refuses: boolean;
  addServer(name: string): { readonly id: string; readonly name: string };
  answer(call: FakeCall): FakeAnswer;
}
interface ExampleBalancer {
  readonly servers: readonly string[];
  ports: readonly { readonly port: number }[];
  readonly address: string;
}

export interface ExampleLifeOptions {
  /** Folder of the example package. */
  readonly folder: string;
  /** As in `--cloud-module`. Default: the folder. */
  readonly module?: string;
  /** As in `--cloud-provider`. Default: `example`. */
  readonly name?: string;
}

export interface ExampleLife extends LifeCloud {
  /** What the faulty module does from now on; empty: it works. */
  breakWith(fault: string): Promise<void>;
}

/** Servers and load balancers of the Example cloud. */
export async function openExampleLife(options: ExampleLifeOptions): Promise<ExampleLife> {
  const { folder, module = folder, name: cloud = 'example' } = options;
  const { createFakeApi, token } = await import(pathToFileURL(join(folder, 'fake-api.ts')).href);
  const api: ExampleApi = createFakeApi();
  const served = await listen(api);
  const faultFile = join(folder, `${cloud}.fault`);
  await writeFile(faultFile, '');
  const servers = [1, 2, 3].map((at) => api.addServer(`${cloud}-${at}`));
  const nameOf = (id: string) => servers.find((one) => one.id === id)?.name ?? id;
  const machineOf = ({ id, name }: { readonly id: string; readonly name: string }): LifeMachine => ({
    node: name,
    providerID: `${cloud}://${id}`,
    labels: { 'topology.kubernetes.io/region': 'north', 'node.kubernetes.io/instance-type': 'small' },
    readdress(address) {
      api.servers.get(id)!.publicIp = address;
    },
    stop() {
      api.servers.get(id)!.status = 'off';
    },
    remove: () => void api.servers.delete(id),
  });
  return {
    served: { cloud, module, configText: JSON.stringify({ endpoint: served.url, token, faultFile }), env: {} },
    machines: servers.map(machineOf),
    changes: () => api.calls.filter(({ method }) => method !== 'GET').length,
    audits: () => api.calls.filter(({ method, path }) => method === 'GET' && path === '/balancers').length,
    routes: () => undefined,
    balancers: () =>
      [...api.balancers.values()].map((balancer) => ({
        members: balancer.servers.map(nameOf),
        ports: balancer.ports.map(({ port }) => port),
        addresses: [balancer.address],
        removePorts() {
          balancer.ports = [];
        },
      })),
    checks: ['account', 'servers'],
    refuse(refused) {
      api.refuses = refused;
    },
    breakWith: (fault) => writeFile(faultFile, fault),
    secrets: [token],
    close: () => served.close(),
  };
}
