import assert from 'node:assert/strict';
import { systemClock } from '../../../../common/process/clock.ts';
import { silentLog } from '../../../../common/process/log.ts';
import type { CloudCall, CloudContext, InstanceRef, Lookup, OpenedCloud } from '../../../../controller/clouds/cloud.ts';
import { cloudModule } from '../../../../controller/clouds/openstack/index.ts';
import { active, password, startFakeOpenStack, uuid } from './fake-openstack.ts';
import type { FakeOpenStack } from './openstack-state.ts';

export const providerID = (n: number) => `openstack:///${uuid(n)}`;
export const ref = (n: number): InstanceRef => ({ by: 'providerID', providerID: providerID(n) });
export const named = (name: string): InstanceRef => ({ by: 'name', name });
export const range = (count: number) => Array.from({ length: count }, (_, n) => n + 1);

/** One line a lookup: `found running by list`, `gone`, `absent`, `unknown Timeout`. */
export function summary(lookup: Lookup): string {
  if (lookup.state === 'unknown') return `unknown ${lookup.error.kind}`;
  return lookup.state === 'found' ? `found ${lookup.power} by ${lookup.request}` : lookup.state;
}
export const states = (lookups: ReadonlyMap<string, Lookup>) => [...lookups.values()].map(summary);

/** A fake OpenStack and clouds opened on it. */
export interface World {
  readonly fake: FakeOpenStack;
  /** What the clouds reported of their calls. */
  readonly calls: CloudCall[];
  /** Opens the cloud with a password; `extra` follows [Global]. */
  open(more?: Partial<CloudContext>, extra?: string, secret?: string): Promise<OpenedCloud>;
  /** Puts servers `node-n` with a port each into the cloud. */
  add(...numbers: number[]): void;
  /** Paths asked of a service. */
  paths(service: string): string[];
  /** How often a path was asked for. */
  count(path: string): number;
  /** Between tests: closes the clouds, empties the fake. */
  reset(): void;
  end(): Promise<void>;
}

export async function startWorld(): Promise<World> {
  const fake = await startFakeOpenStack();
  const calls: CloudCall[] = [];
  const opened: OpenedCloud[] = [];
  return {
    fake,
    calls,
    async open(more = {}, extra = '', secret = password) {
      const text = `[Global]
auth-url = ${fake.authUrl}
username = k8s
password = ${secret}
domain-name = Default
tenant-name = k8s
region = RegionOne
${extra}`;
      const context: CloudContext = {
        clock: systemClock(),
        random: () => 0.5,
        log: silentLog,
        env: {},
        onCall: (call) => calls.push(call),
        ...more,
      };
      const cloud = await cloudModule.open({ path: 'cloud.conf', text }, context);
      assert.ok('identify' in cloud);
      opened.push(cloud);
      return cloud;
    },
    add(...numbers) {
      for (const n of numbers) {
        fake.servers.set(uuid(n), active(n));
        fake.ports.push({ id: `port-${n}`, deviceId: uuid(n), networkId: 'net-1', ips: [`10.20.0.${n % 250}`] });
      }
    },
    paths: (service) => fake.calls.filter((call) => call.service === service).map(({ path }) => path),
    count: (path) => fake.calls.filter((call) => call.path === path).length,
    reset() {
      for (const cloud of opened.splice(0)) cloud.close();
      for (const map of [fake.servers, fake.networks, fake.flavors, fake.routers, fake.volumes]) map.clear();
      for (const list of [fake.ports, fake.subnets, fake.calls, calls]) list.length = 0;
      fake.revoked.clear();
      fake.fault = undefined;
      fake.pageSize = 1000;
      fake.maxMicroversion = 93;
    },
    end: () => fake.close(),
  };
}
