import type { CloudError } from '../../common/cloud-error.ts';
import type { Instance, PowerState } from '../../common/instance.ts';
import type { Clock } from '../../common/process/clock.ts';
import type { Log } from '../../common/process/log.ts';
import type { Random } from '../../common/process/random.ts';
import type { LoadBalancerDriver } from './load-balancer-driver.ts';
import type { LoadBalancers, MemberChoice } from './load-balancers.ts';
import type { NodeTags } from './node-tags.ts';
import type { CallWait } from './rate-limiter.ts';
import type { Routes } from './routes.ts';
import type { Volumes } from './volumes.ts';

/** How an instance is looked up: by its providerID or, as the last resort, by the name of its Node. */
export type InstanceRef =
  | { readonly by: 'providerID'; readonly providerID: string }
  | { readonly by: 'name'; readonly name: string };

/** One string per ref, unique and stable; the key of every map of lookups. */
export function refKey(ref: InstanceRef): string {
  return ref.by === 'providerID' ? ref.providerID : `name:${ref.name}`;
}

/**
 * The answer about one instance.
 *
 * - `found`: the cloud has it. `request`: the kind of request that found it.
 * - `gone`: the cloud shows that very id in a terminal state.
 * - `absent`: proved not to exist in this scope by a request for that very id (a 404, or a complete id filter that
 *   leaves it out). Never the result of a list, of a name search or of an id that this scope could not hold.
 * - `unknown`: anything else. `error.kind`: `NotFound` = a name search without a hit or a proof postponed to a later
 *   pass, `Conflict` = several hits, otherwise the failure. Unknown is never absent.
 */
export type Lookup =
  | {
      readonly state: 'found';
      readonly instance: Instance;
      readonly power: PowerState;
      readonly request: 'list' | 'id';
    }
  | { readonly state: 'gone'; readonly terminalState: string; readonly incarnation?: string }
  | { readonly state: 'absent' }
  | { readonly state: 'unknown'; readonly error: CloudError };

export interface LookupOptions {
  /**
   * Instances that are probably alive. If any ref is `absent`, these are looked up in the same pass by the same kind of
   * request, and answered in the map under their own keys; with `request: 'id'` when found. Ignored when nothing is
   * absent.
   */
  readonly canaries?: readonly InstanceRef[];
  readonly signal?: AbortSignal;
}

/** How many instances may be proved absent in one pass; further candidates are `unknown`. */
export const maxAbsenceProofs = 20;

export interface Instances {
  /**
   * Looks up many instances in few calls. Answers every ref (a ref that this scope cannot contain is `unknown` with
   * kind `Invalid`). Never throws for a failure of the cloud: those refs are `unknown`. A bad ref does not affect the
   * others. Reads only, safe to repeat.
   */
  lookup(refs: readonly InstanceRef[], options?: LookupOptions): Promise<ReadonlyMap<string, Lookup>>;
  /** The maximal number of refs of one pass. */
  readonly batchSize: number;
}

/** What a cloud's permissions are for. A cluster that does not use a capability does not need its permissions. */
export type Capability = 'nodes' | 'routes' | 'load balancers' | 'node tags' | 'volumes';

/** The result of one check of `mooring-controller check`. */
export interface CheckResult {
  readonly name: string;
  /** The capabilities that need it; undefined: all of them. */
  readonly neededFor?: readonly Capability[];
  /** Null: unknown, since nothing that changes nothing can prove it; no failure. */
  readonly ok: boolean | null;
  /** The observation; on failure also the remedy. Free of credentials. */
  readonly message: string;
}

/** The account that a configuration reaches, as the cloud itself reports it. */
export interface CloudIdentity {
  /**
   * Endpoint + account / project + region, free of credentials and spaces; equal for equal reach, stable across
   * restarts.
   */
  readonly scope: string;
  /** The account, project or subscription: one whole segment of the scope between slashes. */
  readonly account: string;
  /**
   * The scopes that earlier versions recorded for the same configuration, without reading the account from the cloud.
   */
  readonly formerScopes?: readonly string[] | undefined;
}

/**
 * One configured cloud: the scope of one cloud configuration.
 */
export interface Cloud extends CloudIdentity {
  /** Name in `--cloud-provider`. */
  readonly name: string;
  /**
   * Whether this scope can contain the providerID: it has the cloud's form, and no part (region) that contradicts the
   * scope.
   */
  accepts(providerID: string): boolean;
  readonly instances: Instances;
  /** Undefined: this cloud has none, or its configuration disables them. Made of `loadBalancerDriver`. */
  readonly loadBalancers?: LoadBalancers | undefined;
  /** For the engine: `withLoadBalancers` makes `loadBalancers` of it when the cloud is opened. */
  readonly loadBalancerDriver?: LoadBalancerDriver | undefined;
  readonly routes?: Routes | undefined;
  /** Undefined: tags of instances are not changed in this cloud. */
  readonly nodeTags?: NodeTags | undefined;
  /** Undefined: its volumes are not labelled. */
  readonly volumes?: Volumes | undefined;
  /**
   * Files besides the cloud config that contain or select the credential (clouds.yaml, the shared credentials file, a
   * CA bundle), as of `open`. When one of them or the cloud config changes, the cloud is opened again. The new one
   * takes over once its `ping` succeeded; until then this one stays in use.
   */
  readonly files?: readonly string[];
  /**
   * The number of credentials used so far, including this one; undefined: the credential never changes while the
   * process runs.
   */
  readonly credential?: number;
  /**
   * One harmless read with the credential. Throws a CloudError. Undefined: the configuration cannot change while the
   * process runs.
   */
  ping?(signal?: AbortSignal): Promise<void>;
  /** Checks credentials, region, permissions and reachability by harmless reads. Does not throw for a refusal. */
  check(signal?: AbortSignal): Promise<readonly CheckResult[]>;
  /** Closes connections. The cloud is not used afterwards. */
  close(): void;
}

/** A cloud opened from its configuration, before the account of its credential is known. */
export interface OpenedCloud extends Omit<Cloud, keyof CloudIdentity> {
  /**
   * Reads the account of the credential from the cloud, because a credential of another account works as well and finds
   * nothing. Needs no permission, where the cloud lets it be so. Later calls with a credential of another account are
   * refused: by the cloud's own code where it reads credentials again, otherwise by the code that opens it again.
   * Throws a CloudError. Safe to repeat.
   */
  identify(signal?: AbortSignal): Promise<CloudIdentity>;
}

/** The cloud with its scope. Closes it and throws the CloudError when the account cannot be read. */
export async function identified(opened: OpenedCloud, signal?: AbortSignal): Promise<Cloud> {
  try {
    return { ...opened, ...(await opened.identify(signal)) };
  } catch (error) {
    opened.close();
    throw error;
  }
}

/** The cloud's API cannot be used: nothing is looked up, and no Node is deleted. */
export interface ReportOnlyCloud {
  /** The reason, as text for people. */
  readonly reportOnly: string;
  /**
   * Whether the source of the credential may answer later: the cloud is then opened again, with back-off. Default: no.
   */
  readonly retryable?: boolean;
}

/** One call to a cloud, for the metrics `mooring_cloud_calls_total{cloud,operation,code}` and its duration. */
export interface CloudCall {
  readonly cloud: string;
  readonly operation: string;
  /**
   * HTTP status or the cloud's error code, or `ok`; `timeout` and `unreachable` where there was none. What does not
   * exist is `404` or ends in `NotFound`.
   */
  readonly code: string;
  readonly seconds: number;
}

/** The dependencies of a cloud. It uses no others. */
export interface CloudContext {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** Environment variables, for the clouds whose own tools read them. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /**
   * `--allow-untagged-cloud`: the cloud may work without the tag that identifies the cluster's resources. Default: no.
   */
  readonly allowUntagged?: boolean | undefined;
  /** `--allowed-security-groups`: ids of security groups that every Service may name. Default: none. */
  readonly allowedSecurityGroups?: readonly string[] | undefined;
  /** The longest time that one mutating call may take, so that the lease outlives it. Default 10 s. */
  readonly mutationTimeoutMs?: number;
  /** Called once per call, after it ended. */
  onCall(call: CloudCall): void;
  /** Called once per call that is subject to a rate limit: the `onWait` of `createRateLimiter`. */
  readonly onWait?: ((wait: CallWait) => void) | undefined;
}

/** The text of a `--cloud-config` file and where it came from. */
export interface CloudConfigFile {
  readonly path: string;
  readonly text: string;
}

/**
 * An invalid cloud configuration. `message` names the key, the value (unless it is a credential) and what was expected.
 * The process ends with exit code 2.
 */
export class CloudConfigError extends Error {
  override readonly name = 'CloudConfigError';
}

/** The export `cloudModule` of a cloud's `index.ts`. */
export interface CloudModule {
  readonly name: string;
  /**
   * The classic controller of this cloud finds instances by the name of the Node alone: `--bind-by-name` is on by
   * default.
   */
  readonly namesOnly?: boolean;
  /**
   * Which Nodes may be members, for commands that open no cloud (`explain`, `ui`): the functions and the cap of its
   * driver. Undefined: every Node, without a cap.
   */
  readonly memberChoice?: MemberChoice;
  /**
   * Opens one configured cloud. Makes no call. `reportOnly` with a reason when there is no credential: then Nodes are
   * initialised from proved reports only and none is deleted. Throws a CloudConfigError.
   */
  open(config: CloudConfigFile | undefined, context: CloudContext): Promise<OpenedCloud | ReportOnlyCloud>;
}
