import { DescribeInstancesCommand } from '@aws-sdk/client-ec2';
import { isCloudError } from '../../../common/cloud-error.ts';
import type { CheckResult } from '../cloud.ts';
import { inParallel } from '../parallel.ts';
import type { Ec2 } from './ec2.ts';
import { codeOf } from './errors.ts';
import { type IamAction, iamActions } from './iam-actions.ts';
import { type IamProof, iamProof } from './iam-proofs.ts';
import { findSamples } from './iam-samples.ts';
import type { AwsParts } from './parts.ts';
import { readRouteTable } from './routes/route-table.ts';
import type { Sts } from './sts.ts';

export interface CheckOptions {
  readonly parts: AwsParts;
  /** For this alone. */
  readonly sts: Sts;
  readonly region: { readonly name: string; readonly from: string };
  readonly credentialsFrom: string;
  readonly signal: AbortSignal | undefined;
}

const callsAtOnce = 8;
const vague =
  'not proved: denied about something that does not exist, as by a policy that asks for the tag of the cluster, and ' +
  'nothing was found to ask about instead';

/** A dry run with the credential. Throws a CloudError. */
export async function proveCredential(ec2: Ec2, signal?: AbortSignal): Promise<void> {
  try {
    await ec2.read(new DescribeInstancesCommand({ DryRun: true }), { signal });
  } catch (error) {
    if (codeOf(error) !== 'DryRunOperation') throw error;
  }
}

/**
 * Region, credential, cluster id, route table, and each permission by a call that changes nothing: a dry run of EC2,
 * answered with `DryRunOperation` where the call is allowed, or a read of Elastic Load Balancing.
 */
export async function checkAws(options: CheckOptions): Promise<readonly CheckResult[]> {
  const { parts, sts, region, credentialsFrom, signal } = options;
  const results: CheckResult[] = [{ name: 'region', ok: true, message: `${region.name}, from ${region.from}` }];
  let caller = '';
  try {
    caller = await sts.identity(signal);
    results.push({ name: 'credentials', ok: true, message: `${caller}, from ${credentialsFrom}` });
  } catch (error) {
    return [...results, { name: 'credentials', ok: false, message: `from ${credentialsFrom}: ${textOf(error)}` }];
  } finally {
    sts.close();
  }
  results.push(await checkCluster(parts, signal));
  const table = await readRouteTable(parts, { signal }).then(
    ({ RouteTableId: message }) => ({ ok: true, message }),
    (error: unknown) => ({ ok: false, message: textOf(error) }),
  );
  results.push({ name: 'route table', neededFor: ['routes'], ...table });
  const routeTable = parts.config.routeTableId ?? (table.ok ? table.message : undefined);
  const samples = await findSamples(parts, routeTable, signal);
  const proved = await inParallel(callsAtOnce, iamActions, (action) =>
    checkAction(action, iamProof(action, parts, caller, samples), signal),
  );
  results.push(...proved.filter((result) => result !== undefined));
  const unproved = iamActions.filter((action) => iamProof(action, parts, caller, samples) === undefined);
  const names = unproved.map(({ action }) => action.replace('elasticloadbalancing:', '')).join(', ');
  const message = `not proved, for there is no dry run of them: ${names}`;
  return [...results, { name: 'elasticloadbalancing: changes', neededFor: ['load balancers'], ok: null, message }];
}

async function checkCluster(parts: AwsParts, signal: AbortSignal | undefined): Promise<CheckResult> {
  const about = { name: 'cluster id', neededFor: ['routes', 'load balancers'] } as const;
  try {
    const { id } = await parts.cluster(signal);
    return { ...about, ok: true, message: id ?? 'none, which is allowed' };
  } catch (error) {
    return { ...about, ok: false, message: `${textOf(error)}; needed for routes and load balancers` };
  }
}

async function checkAction(
  { action, of, capabilities, without }: IamAction,
  proof: IamProof | undefined,
  signal: AbortSignal | undefined,
): Promise<CheckResult | undefined> {
  const about = { name: of === undefined ? action : `${action} of ${of}`, neededFor: capabilities };
  if (proof === undefined) return undefined;
  try {
    await proof.calls.read(proof.command, { signal });
  } catch (error) {
    const code = codeOf(error);
    if (!isCloudError(error)) return { ...about, ok: false, message: textOf(error) };
    if (error.kind === 'Forbidden' && proof.isVague) return { ...about, ok: null, message: vague };
    if (error.kind === 'Forbidden') {
      const advice = `Grant ${action} to the controller's role`;
      return { ...about, ok: false, message: `denied (for ${capabilities.join(', ')}); ${without}. ${advice}` };
    }
    if (code !== 'DryRunOperation' && error.kind !== 'NotFound') {
      // What is about to be refused for its parameters has been let through.
      const passed = error.kind === 'Invalid' || error.kind === 'Conflict';
      return { ...about, ok: passed, message: passed ? `not denied (${code})` : textOf(error) };
    }
  }
  return { ...about, ok: true, message: 'allowed' };
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
