import { isCloudError } from '../../../common/cloud-error.ts';
import type { CheckResult } from '../cloud.ts';
import type { Ec2 } from './ec2.ts';
import { codeOf } from './errors.ts';

export interface CheckOptions {
  readonly ec2: Ec2;
  readonly region: { readonly name: string; readonly from: string };
  readonly credentialsFrom: string;
  readonly signal: AbortSignal | undefined;
}

/** A dry run with the credential. Throws a CloudError. */
export async function proveCredential(ec2: Ec2, signal?: AbortSignal): Promise<void> {
  try {
    await ec2.describeInstances({ DryRun: true }, { signal });
  } catch (error) {
    if (codeOf(error) !== 'DryRunOperation') throw error;
  }
}

/** Region, credential, and each permission by a dry run, which EC2 answers with `DryRunOperation` where it would have been allowed. */
export async function checkAws({
  ec2,
  region,
  credentialsFrom,
  signal,
}: CheckOptions): Promise<readonly CheckResult[]> {
  const results: CheckResult[] = [{ name: 'region', ok: true, message: `${region.name}, from ${region.from}` }];
  try {
    await ec2.credential(signal);
    results.push({ name: 'credentials', ok: true, message: `from ${credentialsFrom}` });
  } catch (error) {
    const message = `none from ${credentialsFrom}: ${error instanceof Error ? error.message : String(error)}`;
    return [...results, { name: 'credentials', ok: false, message }];
  }
  const permission = (name: string, call: Promise<unknown>, without: string) => dryRun(name, call, without);
  results.push(
    await permission(
      'ec2:DescribeInstances',
      ec2.describeInstances({ DryRun: true }, { signal }),
      'nodes cannot be looked up',
    ),
    await permission(
      'ec2:DescribeAvailabilityZones',
      ec2.describeZones(true, { signal }),
      'nodes go without the zone-id label',
    ),
  );
  return results;
}

async function dryRun(name: string, call: Promise<unknown>, without: string): Promise<CheckResult> {
  try {
    await call;
    return { name, ok: true, message: 'allowed' };
  } catch (error) {
    if (isCloudError(error) && codeOf(error.cause) === 'DryRunOperation') return { name, ok: true, message: 'allowed' };
    if (isCloudError(error) && error.kind === 'Forbidden') {
      return { name, ok: false, message: `denied; ${without}. Grant ${name} to the controller's role` };
    }
    return { name, ok: false, message: error instanceof Error ? error.message : String(error) };
  }
}
