import { defineFlags, type FlagDefinition } from '../../../common/process/flags.ts';
import { clusterFlags, networkFlags } from '../../app/options/network-flags.ts';
import { commonFlags, runFlags } from '../../app/options/own-flags.ts';
import { servingFlags } from '../../app/options/serving-flags.ts';
import { upstreamFlags } from '../../app/options/upstream-flags.ts';
import { vendorFlags } from '../../app/options/vendor-flags.ts';
import { webhookFlags } from '../../app/options/webhook-flags.ts';
import { reportOnlyFlags } from '../command.ts';

/** Different from 1 (incomplete plan) and 2 (bad flag), so that a pipeline can distinguish them. */
export const changesExitCode = 3;

/** Flags of `run` about what a plan does not do. */
const withoutMeaning: readonly RegExp[] = [
  /^leader-elect(?!-resource-(name|namespace)$)/,
  /^(report-|agent-service-account$|attestation-trust$)/,
  /^(secure-port$|bind-address$|tls-|authentication-|authorization-|webhook)/,
  /^dry-run$/,
];

const ignored = 'a plan takes no Lease, serves nothing and hears agents through the leader alone';

/** The same flags, those without a meaning for a plan ignored: so the arguments of a Deployment can be pasted. */
function forPlan<const D extends Readonly<Record<string, FlagDefinition>>>(flags: D): D {
  const changed = Object.entries(flags).map(([name, flag]) => [
    name,
    withoutMeaning.some((pattern) => pattern.test(name)) ? { ...flag, ignored } : flag,
  ]);
  return Object.fromEntries(changed) as D;
}

export const planFlags = {
  ...commonFlags,
  ...forPlan(runFlags),
  ...forPlan(servingFlags),
  ...forPlan(webhookFlags),
  ...clusterFlags,
  ...networkFlags,
  ...upstreamFlags,
  ...vendorFlags,
  ...reportOnlyFlags,
  ...defineFlags({
    ahead: {
      kind: 'duration',
      default: '10m',
      min: 0,
      max: 172_800_000,
      help:
        'How far to look ahead: changes that wait for proof, a delay or a budget are planned with their time, as if ' +
        'nothing else changed until then. 0s: only what a run would do at once.',
    },
    listen: {
      kind: 'duration',
      default: '0s',
      min: 0,
      max: 3_600_000,
      help:
        'How long to read --reports-url again, every ten seconds, before the plan is made, until every live Node has ' +
        'been heard: a new leader hears all agents within a minute, or ten in a large cluster. 0s: read once.',
    },
    'exit-code': {
      kind: 'bool',
      default: false,
      help: `Exit code ${changesExitCode} when there are changes, 0 when there are none.`,
    },
  }),
};
