import { DescribeInstanceTopologyCommand, type Instance as Ec2Instance } from '@aws-sdk/client-ec2';
import { LRUCache } from 'lru-cache';
import type { Clock } from '../../../common/process/clock.ts';
import { errorFields, type Log } from '../../../common/process/log.ts';
import { chunks } from '../parallel.ts';
import type { Ec2 } from './ec2.ts';
import { codeOf } from './errors.ts';

export type NetworkLayers = ReturnType<typeof createNetworkLayers>;

const dayMs = 24 * 60 * 60_000;
const retryMs = 5 * 60_000;
/** As many as DescribeInstanceTopology takes. */
const idsPerCall = 100;

export interface NetworkLayersOptions {
  readonly ec2: Ec2;
  readonly types: RegExp;
  readonly clock: Clock;
  readonly log: Log;
}

/**
 * Where instances are in AWS's network, for schedulers that place pods close together. A failure leaves only the labels
 * out.
 */
export function createNetworkLayers({ ec2, types, clock, log }: NetworkLayersOptions) {
  // To the cache a time of 0 is none.
  const perf = { now: () => clock.monotonic() + 1 };
  const known = new LRUCache<string, readonly string[]>({ max: 20_000, ttl: dayMs, ttlResolution: 0, perf });
  let restUntil = 0;

  async function ask(ids: readonly string[], signal: AbortSignal | undefined): Promise<void> {
    const command = new DescribeInstanceTopologyCommand({ InstanceIds: [...ids] });
    const { Instances } = await ec2.read(command, { urgency: 'refresh', signal });
    for (const id of ids) known.set(id, []);
    for (const { InstanceId, NetworkNodes } of Instances ?? [])
      if (InstanceId) known.set(InstanceId, NetworkNodes ?? []);
  }

  return {
    /** Ids of the network nodes above the instance, the widest layer first; empty while unknown or without any. */
    of: (id: string) => known.get(id) ?? [],
    /** Asks about running ones of a type that is asked for, each once a day at most. Does not throw. */
    async learn(instances: Iterable<Ec2Instance>, signal?: AbortSignal): Promise<void> {
      const missing: string[] = [];
      for (const { InstanceId: id, InstanceType: type, State } of instances) {
        if (State?.Name === 'running' && id && type && types.test(type) && !known.has(id)) missing.push(id);
      }
      if (missing.length === 0 || clock.monotonic() < restUntil) return;
      try {
        for (const some of chunks(missing, idsPerCall)) await ask(some, signal);
      } catch (error) {
        // Not in this region, or not for this role: that does not change soon.
        const refused = ['UnsupportedOperation', 'UnauthorizedOperation'].includes(codeOf(error));
        restUntil = clock.monotonic() + (refused ? dayMs : retryMs);
        log.warn('network layers are unknown; nodes go without their labels', errorFields(error));
      }
    },
  };
}
