import type { Cloud, OpenedCloud } from '../clouds/cloud.ts';
import type { LabelSelector } from './selector.ts';

/** One cloud of `--cloud-provider`: with its API, or report-only. */
export interface ConfiguredCloud {
  readonly name: string;
  readonly scope: string;
  accepts(providerID: string): boolean;
  /** From `--node-selector`; undefined: none was given for this cloud. */
  readonly selector: LabelSelector | undefined;
  /**
   * `--require-attestation`: a Node without a signed document of its VM is not initialised and joins no load balancer.
   * Default: no.
   */
  readonly requireAttestation?: boolean | undefined;
  /** As in CloudIdentity; undefined where no API named it. */
  readonly account?: string | undefined;
  readonly formerScopes?: readonly string[] | undefined;
  /** Set while its API has not named the account, or there is no credential: report-only until then. It is retried. */
  readonly unidentified?:
    | {
        readonly why: string;
        /** It did not answer, or failed: no other credential would help. */
        readonly isDown?: boolean;
        readonly opened?: OpenedCloud;
      }
    | undefined;
  /** Whether a Node without providerID and report may be bound to the only instance of its name. Default: no. */
  readonly bindsByName?: boolean;
  /** Why it is report-only although Mooring calls such APIs: no credential, or an account that is not known. */
  readonly reportOnly?: string | undefined;
  /** Undefined = report-only. */
  readonly api: Cloud | undefined;
}
