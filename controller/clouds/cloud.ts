import type { CloudError } from '../../common/cloud-error.ts';
import type { Instance, PowerState } from '../../common/instance.ts';
import type { Clock } from '../../common/process/clock.ts';
import type { Log } from '../../common/process/log.ts';
import type { Random } from '../../common/process/random.ts';
import type { LoadBalancers } from './load-balancers.ts';
import type { CallWait } from './rate-limiter.ts';
import type { Routes } from './routes.ts';

/** How an instance is asked for: by its providerID or, as the last resort, by the name of its Node. */
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
 * - `found`: the cloud serves it. `request` says by which kind of request it was seen.
 * - `gone`: the cloud shows that very id in a terminal state.
 * - `absent`: proved not to exist in this scope by a request for that very id (a 404, or a complete id filter that leaves it out).
 *   Never the result of a list, of a name search or of an id that this scope could not hold.
 * - `unknown`: anything else. `error.kind` says what: `NotFound` = a name search without a hit or a proof put off to a later pass,
 *   `Conflict` = several hits, otherwise the failure. Unknown is never absent.
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
   * Instances believed to be alive. If any ref comes out `absent`, these are asked for in the same pass by the very kind of request that
   * proved it, and answered in the map under their own keys; with `request: 'id'` when found. Ignored when nothing is absent.
   */
  readonly canaries?: readonly InstanceRef[];
  readonly signal?: AbortSignal;
}

/** How many instances may be proved absent in one pass; further candidates come out `unknown`. */
export const maxAbsenceProofs = 20;

export interface Instances {
  /**
   * Looks up many instances in few calls. Answers every ref (a ref it cannot hold is `unknown` with kind `Invalid`); never throws for a
   * failure of the cloud: those refs are `unknown`. One bad ref never spoils the others. Reads only, safe to repeat.
   */
  lookup(refs: readonly InstanceRef[], options?: LookupOptions): Promise<ReadonlyMap<string, Lookup>>;
  /** How many refs one pass should carry at the most. */
  readonly batchSize: number;
}

/** What a cloud's permissions are for. A cluster that leaves a capability out can leave out its permissions. */
export type Capability = 'nodes' | 'routes' | 'load balancers';

/** One thing that `check` proved or could not prove. */
export interface CheckResult {
  readonly name: string;
  /** The capabilities that need it; undefined = all of them. */
  readonly neededFor?: readonly Capability[];
  readonly ok: boolean;
  /** What was seen; on failure also what to do about it. Free of credentials. */
  readonly message: string;
}

/** Whose cloud a configuration reaches, as the cloud itself says. */
export interface CloudIdentity {
  /** Endpoint + account / project + region, free of credentials and spaces; equal for equal reach, stable across restarts. */
  readonly scope: string;
  /** The account, project or subscription: one whole segment of the scope between slashes. */
  readonly account: string;
  /** What versions before this one recorded as the scope of the very same configuration, without asking the cloud for the account. */
  readonly formerScopes?: readonly string[] | undefined;
}

/**
 * One configured cloud: where one cloud configuration reaches. Volumes and reconcilers of a cloud's own join this contract with the
 * controllers that drive them.
 */
export interface Cloud extends CloudIdentity {
  /** Name in `--cloud-provider`. */
  readonly name: string;
  /** Whether this scope could hold the providerID: its cloud's form, and no part (region) that contradicts the scope. */
  accepts(providerID: string): boolean;
  readonly instances: Instances;
  /** Undefined: this cloud has none here, or its configuration leaves them out. */
  readonly loadBalancers?: LoadBalancers | undefined;
  readonly routes?: Routes | undefined;
  /**
   * Files besides the cloud config that carry or choose the credential (clouds.yaml, the shared credentials file, a CA bundle), as they were when it opened. When one
   * of them or the cloud config changes, the cloud is opened anew and takes over once `ping` has answered; until then this one goes on.
   */
  readonly files?: readonly string[];
  /** Counts the credentials that were at work, this one included; undefined: it is the first one for as long as the process runs. */
  readonly credential?: number;
  /** One harmless read with the credential. Throws a CloudError. Undefined: nothing here can change while the process runs. */
  ping?(signal?: AbortSignal): Promise<void>;
  /** Proves credentials, region, permissions and reachability by harmless reads. Does not throw for a refusal. */
  check(signal?: AbortSignal): Promise<readonly CheckResult[]>;
  /** Closes connections. The cloud is not used afterwards. */
  close(): void;
}

/** A cloud as its configuration has it; which account its credential is of has yet to be asked. */
export interface OpenedCloud extends Omit<Cloud, keyof CloudIdentity> {
  /**
   * Asks the cloud which account the credential is of: a wrong credential is as good as the right one, and finds nothing. Needs no right. From
   * then on no call is made with the credential of another account. Throws a CloudError. Safe to repeat.
   */
  identify(signal?: AbortSignal): Promise<CloudIdentity>;
}

/** The cloud with the scope that it names. Closes it and throws the CloudError where it does not answer. */
export async function identified(opened: OpenedCloud, signal?: AbortSignal): Promise<Cloud> {
  try {
    return { ...opened, ...(await opened.identify(signal)) };
  } catch (error) {
    opened.close();
    throw error;
  }
}

/** No API of the cloud can be used: nothing is looked up there, and nothing deleted. */
export interface ReportOnlyCloud {
  /** Why. */
  readonly reportOnly: string;
  /** The source of the credential may answer later: the cloud is opened again, with back-off. Default: no. */
  readonly retryable?: boolean;
}

/** One call to a cloud, for the metrics `mooring_cloud_calls_total{cloud,operation,code}` and its duration. */
export interface CloudCall {
  readonly cloud: string;
  readonly operation: string;
  /** HTTP status or the cloud's error code, or `ok`; `timeout` and `unreachable` where there was none. */
  readonly code: string;
  readonly seconds: number;
}

/** What a cloud is given to work with; nothing else comes from outside. */
export interface CloudContext {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** Environment variables, for the clouds whose own tools read them. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** `--allow-untagged-cloud`: where this cloud wants to be told which cluster's things it sees, it may do without. Default: no. */
  readonly allowUntagged?: boolean | undefined;
  /** `--allowed-security-groups`: ids of security groups that every Service may name. Default: none. */
  readonly allowedSecurityGroups?: readonly string[] | undefined;
  /** How long one mutating call may take at the most, so that the lease outlives it. Default 10 s. */
  readonly mutationTimeoutMs?: number;
  /** Called once per call, after it ended. */
  onCall(call: CloudCall): void;
  /** Called once per call that had to wait for its turn or could have had to: what `createRateLimiter` takes as `onWait`. */
  readonly onWait?: ((wait: CallWait) => void) | undefined;
}

/** The text of a `--cloud-config` file and where it came from. */
export interface CloudConfigFile {
  readonly path: string;
  readonly text: string;
}

/**
 * A configuration the cloud cannot work with. `message` names the key, the value (unless it is a credential) and what was expected.
 * The process ends with exit code 2.
 */
export class CloudConfigError extends Error {
  override readonly name = 'CloudConfigError';
}

/** What a cloud's folder exports as `cloudModule` from its `index.ts`. */
export interface CloudModule {
  readonly name: string;
  /** The classic controller of this cloud knows Nodes by their names alone: then `--bind-by-name` is on for it by default. */
  readonly namesOnly?: boolean;
  /**
   * Opens one configured cloud. Makes no call. `reportOnly` with a reason when there is nothing to authenticate with: then only proved
   * reports are written and nothing is deleted. Throws a CloudConfigError.
   */
  open(config: CloudConfigFile | undefined, context: CloudContext): Promise<OpenedCloud | ReportOnlyCloud>;
}
