import type { Clock } from '../../../common/process/clock.ts';
import type { Random } from '../../../common/process/random.ts';
import { type CallCounter, callCounter } from './calls.ts';
import { cloudService } from './cloud-service.ts';
import { type Credentials, credentials } from './credentials.ts';
import { type Faults, faultList } from './faults.ts';
import type { Geography } from './geography.ts';
import { randomHex } from './identifiers.ts';
import { createIdentitySigner } from './identity-signer.ts';
import { metadataService } from './metadata.ts';
import { type CloudModel, createCloudModel } from './model.ts';
import { createNetwork, type Network, type NetworkOptions } from './network.ts';
import type { Timings } from './power.ts';
import { type Throttle, throttle } from './throttle.ts';
import type { WireHandler } from './wire.ts';

export interface SimulatedCloudOptions extends NetworkOptions {
  readonly clock: Clock;
  readonly random: Random;
  /** Project -> region -> zones. */
  readonly projects?: Geography;
  readonly timings?: Partial<Timings>;
  readonly historyMs?: number;
}

/** A whole simulated cloud without sockets: its model, its two services and everything that can be done to them. */
export interface SimulatedCloud {
  readonly model: CloudModel;
  /** Load balancers, addresses and routes. */
  readonly network: Network;
  readonly faults: Faults;
  readonly throttle: Throttle;
  readonly credentials: Credentials;
  /** A good credential of the first project. */
  readonly credential: string;
  /** What its metadata services sign identities with: an Ed25519 public key in PEM. */
  readonly identityKey: string;
  /** Calls of the API. */
  readonly calls: CallCounter;
  readonly metadataCalls: CallCounter;
  /** The API, under `/v1`. */
  readonly api: WireHandler;
  /** The metadata services, each under `/<instance id>`. */
  readonly metadata: WireHandler;
  /** Cancels the models' timers. */
  close(): void;
}

/** Each project gets one good credential, `sim-<project>-<random>`. */
export function createSimulatedCloud(options: SimulatedCloudOptions): SimulatedCloud {
  const { clock, random, projects, timings, historyMs = 600_000, loadBalancerTimings, addressPlan } = options;
  const model = createCloudModel({
    clock,
    random,
    ...(projects && { geography: projects }),
    ...(timings && { timings }),
    historyMs,
  });
  const network = createNetwork({
    clock,
    random,
    model,
    historyMs,
    ...(loadBalancerTimings && { loadBalancerTimings }),
    ...(addressPlan && { addressPlan }),
  });
  const faults = faultList(random);
  const calls = callCounter();
  const metadataCalls = callCounter();
  const limits = throttle(clock);
  const known = credentials();
  const signer = createIdentitySigner();
  const issued: string[] = [];
  for (const project of new Set([...model.places.values()].map((place) => place.project))) {
    const credential = `sim-${project}-${randomHex(random, 16)}`;
    known.set(credential, project);
    issued.push(credential);
  }
  return {
    model,
    network,
    faults,
    throttle: limits,
    credentials: known,
    credential: issued[0]!,
    identityKey: signer.publicKey,
    calls,
    metadataCalls,
    api: cloudService({ clock, random, model, network, faults, calls, credentials: known, throttle: limits }),
    metadata: metadataService({ clock, random, model, faults, calls: metadataCalls, signer }),
    close() {
      model.close();
      network.close();
    },
  };
}
