import type { DesiredLoadBalancer, Owner } from '../../load-balancers.ts';

/** Longest name, description and tag in Octavia and Neutron. */
export const longest = 255;

export type Named = Pick<DesiredLoadBalancer, 'service' | 'clusterName'>;

/** `kube_service_<cluster>_<namespace>_<service>`: the classic controller's name and tag of a load balancer. */
export function classicName({ service, clusterName }: Named): string {
  return cut(`${classicPrefix}${clusterName}_${service.replace('/', '_')}`);
}

export const classicPrefix = 'kube_service_';

/** `namespace/name` by the name that the classic controller gives a load balancer; undefined for any other text. */
export function serviceOfClassicName(name: string): string | undefined {
  const match = /^kube_service_.*_([a-z0-9-]+)_([a-z0-9-]+)$/.exec(name);
  return match ? `${match[1]}/${match[2]}` : undefined;
}

/** Of the piece for the port at this place in the Service. */
export function pieceName(kind: 'listener' | 'pool' | 'monitor', index: number, loadBalancerName: string): string {
  return cut(`${kind}_${index}_${loadBalancerName}`);
}

/** Whether the classic controller could have given this name to a piece of that load balancer. */
export function isPieceName(kind: 'listener' | 'pool', name: string, loadBalancerName: string): boolean {
  const match = new RegExp(`^${kind}_(\\d+)_`).exec(name);
  return match !== null && name === pieceName(kind, Number(match[1]), loadBalancerName);
}

export function loadBalancerDescription({ service, clusterName }: Named): string {
  return cut(`Kubernetes external service ${service} from cluster ${clusterName}`);
}

/**
 * Its first six words tell the classic controller that it may delete it. It is found by the whole text, which therefore
 * holds nothing that may change, or by its port.
 *
 * @param ref `port`: the one that the Service names, where it was created on that
 */
export function floatingIpDescription(
  ref: Pick<DesiredLoadBalancer, 'owner' | 'service'> & { readonly port?: string | undefined },
  keep = false,
): string {
  const { owner, service, port } = ref;
  const text = `Floating IP for Kubernetes external service ${service}`;
  const mark = ownerMark(owner, keep);
  const whole = port === undefined ? text : `${text} on port ${port}`;
  return withMark(whole.length + 1 + mark.length > longest ? text : whole, mark);
}

/** The port of the Service on which that floating IP was created; undefined where nothing proves it. */
export function createdOn(description: string): string | undefined {
  return / on port (\S+) \[mooring [^\]]*\]$/.exec(description)?.[1];
}

/** As the classic controller describes a floating IP that it made. */
export function classicFloatingIpDescription({ service, clusterName }: Named): string {
  return `Floating IP for Kubernetes external service ${service} from cluster ${clusterName}`;
}

/** As the classic controller describes a security group that it made. */
export function classicGroupDescription({ service, clusterName }: Named): string {
  return `Security Group for ${service} Service LoadBalancer in cluster ${clusterName}`;
}

export function securityGroupName(owner: Owner, service: string): string {
  return cut(`lb-sg-${owner.service}-${service.replace('/', '-')}`);
}

/**
 * A classic description that ends in its owner: Neutron takes tags only after a create, and a crash in between would
 * leave something without an owner behind.
 */
export function withMark(description: string, mark: string): string {
  return `${description.slice(0, longest - mark.length - 1)} ${mark}`;
}

/** @param keep it outlives its Service */
export function ownerMark({ cluster, service }: Owner, keep = false): string {
  return `[mooring ${cluster} ${service}${keep ? ' keep' : ''}]`;
}

/**
 * On what stays after its Service.
 *
 * @param service `namespace/name` that it was of; undefined where nothing says so
 */
export function retainedMark({ cluster }: Pick<Owner, 'cluster'>, service?: string): string {
  return `[mooring ${cluster} retained${service === undefined ? '' : ` ${service}`}]`;
}

const markForm = /\[mooring (\S+) (\S+?)( keep)?\]$/;
const retainedForm = /\[mooring (\S+) retained(?: (\S+\/\S+))?\]$/;

export interface Mark {
  readonly cluster: string;
  /** UID of the Service that has it; undefined = it outlived its Service. */
  readonly service: string | undefined;
  readonly keep: boolean;
  /** `namespace/name` of the Service that it outlived on purpose, where that is known. */
  readonly keptFor?: string | undefined;
}

/** Whose something is by the mark in its description. */
export function markIn(description: string): Mark | undefined {
  const retained = retainedForm.exec(description);
  // Earlier versions marked without the Service, whose name is in the description before the mark.
  if (retained !== null) {
    const keptFor = retained[2] ?? serviceIn(description);
    return { cluster: retained[1]!, service: undefined, keep: false, keptFor };
  }
  const match = markForm.exec(description);
  if (match === null) return undefined;
  const service = match[2] === 'left' ? undefined : match[2];
  return { cluster: match[1]!, service, keep: match[3] !== undefined };
}

/** `namespace/name` as a description of ours or of the classic controller says it, for people. */
export function serviceIn(description: string): string | undefined {
  return /(?:external service|Security Group for) (\S+\/\S+)/.exec(description)?.[1];
}

export function cut(text: string): string {
  return text.slice(0, longest);
}
