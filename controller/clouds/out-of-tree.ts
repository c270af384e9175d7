import type { CloudErrorDetails } from '../../common/cloud-error.ts';
import type { AnswerFields } from './answer-fields.ts';
import type { Checks } from './checks.ts';
import type { CloudContext, CloudModule, Instances } from './cloud.ts';
import type { JsonApi } from './json-api.ts';
import type { Machines } from './machines.ts';
import type { VolumeRef } from './volumes.ts';

/**
 * The contract with a cloud that is no part of Mooring, published as the types `mooring/cloud`. A module of
 * `--cloud-module NAME=PATH` has the exports of `OutOfTreeModule`. It imports types alone: everything that it needs at
 * run time is in the `CloudKit` that it is given.
 */

export type { CloudError, CloudErrorDetails, CloudErrorKind } from '../../common/cloud-error.ts';
export type { Instance, NodeAddress, NodeAddressType, PowerState } from '../../common/instance.ts';
export type { DocumentType } from '../engine/driver.ts';
export type {
  Answer,
  Change,
  Comparison,
  Desire,
  Found,
  Kind,
  OperationState,
  Query,
  Reader,
  ReadIo,
  Reading,
  Refusal,
  Want,
  WriteIo,
} from '../engine/resource.ts';
export type {
  CheckResult,
  CloudConfigFile,
  CloudContext,
  CloudIdentity,
  InstanceRef,
  Instances,
  Lookup,
  LookupOptions,
  OpenedCloud,
  ReportOnlyCloud,
} from './cloud.ts';
export type { ApiRequest } from './json-api.ts';
export type { DesireInput, LoadBalancerDriver, ShownLoadBalancer } from './load-balancer-driver.ts';
export type {
  DesiredLoadBalancer,
  DesiredMember,
  DesiredPort,
  Ingress,
  ObservedMember,
  Owner,
} from './load-balancers.ts';
export type { Seen } from './machines.ts';
export type { NodeTags, Tags } from './node-tags.ts';
export type { ApplyOptions, Permit } from './permit.ts';
export type { DesiredRoute, ObservedRoute, Routes, RouteTable } from './routes.ts';
export type { VolumeLookup, VolumePlace, VolumeRef, VolumeSource, Volumes } from './volumes.ts';
export type { AnswerFields, Checks, JsonApi, Machines };

/** The exports of a module. Others are ignored. */
export interface OutOfTreeModule {
  /** Of this contract. It changes when a module of the version before would no longer work. */
  readonly contractVersion: 1;
  createCloud(kit: CloudKit): OutOfTreeCloud;
}

/**
 * A cloud without its name, which the command line gives. `open` makes no call; whatever it throws is an invalid
 * configuration, and its message is shown.
 */
export type OutOfTreeCloud = Omit<CloudModule, 'name' | 'memberChoice'>;

/** What a module gets instead of imports. */
export interface CloudKit {
  /** NAME of `--cloud-module`: the cloud's name in `--cloud-provider`, and the scheme of its providerIDs. */
  readonly name: string;
  /** The only spelling of an instance's providerID: `NAME://ID`. Throws a RangeError for blanks and invisible text. */
  providerIDOf(instanceId: string): string;
  /** Undefined for a providerID of another cloud. */
  instanceIdOf(providerID: string): string | undefined;
  /** A failure of the cloud. Any other error that a module throws counts as `Unavailable`: its effect is not known. */
  error(details: Omit<CloudErrorDetails, 'cloud'>): Error;
  /** Undefined for an error that is no failure of the cloud. */
  kindOf(error: unknown): CloudErrorDetails['kind'] | undefined;
  /**
   * Lookups in the order that proves absence: lists nominate, and requests by id prove.
   *
   * @param machines called once per pass, so that what it reads is read at most once
   */
  instances(machines: () => readonly Machines[]): Instances;
  /** The key of a volume in the answer of a lookup. */
  volumeKey(ref: VolumeRef): string;
  /** An API that speaks JSON, with deadlines, rate limit, metrics and permits. */
  jsonApi(context: CloudContext, options: KitApiOptions): KitApi;
  /** For `check`: proofs one after the other. */
  checks(): Checks;
}

export interface KitApiOptions {
  /** Base URL without a slash at the end. */
  readonly endpoint: string;
  /** Value of the header. */
  readonly authorization: string;
  readonly callsPerSecond: number;
  /** Calls at once after a rest. */
  readonly burst: number;
  /** Default 15 s. */
  readonly timeoutMs?: number;
}

export interface KitApi extends JsonApi {
  /** Closes the connections. */
  close(): void;
}
