import { dirname, join } from 'node:path';
import { CloudConfigError } from '../cloud.ts';
import type { ReadText } from '../variables.ts';
import { type AnnotationName, annotationTable } from './annotations.ts';

/** What the ConfigMap of the classic controller says about load balancers: `loadBalancerOption` of it. */
export interface Options {
  /** As the annotation of that name has it. */
  readonly texts: Readonly<Partial<Record<AnnotationName, string>>>;
  /** Stands in names of load balancers for that of the cluster. */
  readonly businessName: string | undefined;
  /** For the log. */
  readonly warnings: readonly string[];
}

export const noOptions: Options = { texts: {}, businessName: undefined, warnings: [] };

const ofConfigMap: readonly AnnotationName[] = [
  ...(['lb-algorithm', 'keep-eip', 'session-affinity-flag', 'session-affinity-option', 'health-check-flag'] as const),
  ...(['health-check-option', 'enable-cross-vpc', 'l4-flavor-id', 'l7-flavor-id', 'idle-timeout'] as const),
  ...(['enable-transparent-client-ip', 'request-timeout', 'response-timeout'] as const),
];
/** Why each of the others has no effect. */
const ignored: Readonly<Record<string, string>> = {
  'lb-provider': 'there is no other than vlb',
  'disable-create-security-group': 'no security group is made',
  'loadbalancer-class': 'see --load-balancer-class',
  'primary-nic': 'members have the first address of their Node',
};

/** Files beside it of the same ConfigMap, with why nothing in them has an effect. */
const beside: Readonly<Record<string, string>> = {
  networkingOption: 'addresses are those of the interfaces and elastic IPs of each ECS',
  metadataOption: 'the API tells about ECSs, and the agent reads the metadata',
};

async function warningsBeside(path: string, readText: ReadText): Promise<readonly string[]> {
  const warnings: string[] = [];
  for (const [file, why] of Object.entries(beside)) {
    const text = (await readText(join(dirname(path), file)))?.trim();
    if (text !== undefined && !/^(\{\s*\})?$/.test(text)) warnings.push(`${file} has no effect: ${why}`);
  }
  return warnings;
}

/**
 * Reads the file of a mounted ConfigMap.
 *
 * @throws CloudConfigError
 */
export async function readOptions(path: string | undefined, readText: ReadText): Promise<Options> {
  if (path === undefined) return noOptions;
  const text = await readText(path);
  if (text === undefined) {
    const missing = `HUAWEICLOUD_LOADBALANCER_OPTION: no file ${path}, so no defaults of a ConfigMap`;
    return { ...noOptions, warnings: [missing] };
  }
  const wrong = (message: string) => new CloudConfigError(`${path}: ${message}`);
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    throw wrong('it is no JSON');
  }
  if (typeof json !== 'object' || json === null || Array.isArray(json)) throw wrong('expected a JSON object');
  const texts: Partial<Record<AnnotationName, string>> = {};
  const warnings = [...(await warningsBeside(path, readText))];
  let businessName: string | undefined;
  for (const [key, value] of Object.entries(json)) {
    const shown = typeof value === 'object' ? JSON.stringify(value) : String(value);
    const name = ofConfigMap.find((one) => one === key && one in annotationTable);
    if (name !== undefined) texts[name] = shown;
    else if (key === 'business-name') businessName = shown || undefined;
    else warnings.push(key in ignored ? `${key} has no effect: ${ignored[key]}` : `unknown key ${key}`);
  }
  return { texts, businessName, warnings };
}
