import { isKeptFor } from '../../access.ts';
import { type Owner, ownerTags } from '../../load-balancers.ts';

export type Labels = Readonly<Record<string, string>>;

/** A value has at most 63 characters, and no slash: what other clouds have in one tag stands in several labels here. */
export const labelKeys = {
  ...ownerTags,
  namespace: 'mooring.dev/namespace',
  /** On what others made and one Service of ours uses. */
  attached: 'mooring.dev/attached',
  /** For the Service's status: instead of addresses. */
  hostname: 'mooring.dev/hostname',
  /** For the Service's status: `ipv6`, `private`, or `ipv6.private`. */
  hidden: 'mooring.dev/hidden',
  /** Beside the cluster in the consent label. */
  consentNamespace: 'mooring.dev/attachable-namespace',
  consentService: 'mooring.dev/attachable-service',
  /** UID of the Service, of the classic controller. */
  classic: 'hcloud-ccm/service-uid',
} as const;

export const maxLabelValue = 63;

/** What the labels of something that is made for a Service say. */
export interface Marks {
  readonly owner: Owner;
  /** `namespace/name` */
  readonly service: string;
  readonly hostname?: string | undefined;
  readonly hidden?: string | undefined;
}

export function ownerOf(labels: Labels): Owner | undefined {
  const { [labelKeys.cluster]: cluster, [labelKeys.service]: service } = labels;
  return cluster === undefined || service === undefined ? undefined : { cluster, service };
}

/** `namespace/name` of the Service that it was made for. */
export function serviceOf(labels: Labels): string | undefined {
  const { [labelKeys.namespace]: namespace, [labelKeys.serviceName]: name } = labels;
  return namespace === undefined || name === undefined ? undefined : `${namespace}/${name}`;
}

/** Labels with ours; those of others stay. */
export function marked(labels: Labels, { owner, service, hostname, hidden }: Marks): Labels {
  const [namespace = '', name = ''] = service.split('/');
  return {
    ...unmarked(labels),
    [labelKeys.cluster]: owner.cluster,
    [labelKeys.service]: owner.service,
    [labelKeys.namespace]: namespace,
    [labelKeys.serviceName]: name,
    ...(hostname !== undefined && { [labelKeys.hostname]: hostname }),
    ...(hidden !== undefined && { [labelKeys.hidden]: hidden }),
  };
}

/** Labels of what is made for a Service: the classic controller looks for its own, on the way back to it. */
export function labelsOfNew(marks: Marks): Labels {
  return { ...marked({}, marks), [labelKeys.classic]: marks.owner.service };
}

/** Labels without ours, but for those that give consent. */
export function unmarked(labels: Labels): Labels {
  const { cluster, service, serviceName, namespace, attached, hostname, hidden, retained } = labelKeys;
  const ours: readonly string[] = [cluster, service, serviceName, namespace, attached, hostname, hidden, retained];
  return Object.fromEntries(Object.entries(labels).filter(([key]) => !ours.includes(key)));
}

/** Labels of what stays after its Service. */
export function retained(labels: Labels): Labels {
  const { [labelKeys.namespace]: namespace = '', [labelKeys.serviceName]: name = '' } = labels;
  const { [labelKeys.classic]: _, ...others } = unmarked(labels);
  return {
    ...others,
    [labelKeys.retained]: 'true',
    [labelKeys.namespace]: namespace,
    [labelKeys.serviceName]: name,
  };
}

export function isRetained(labels: Labels): boolean {
  return labels[labelKeys.retained] !== undefined;
}

/** Whether it was kept for a Service of the same namespace. */
export function isRetainedFor(labels: Labels, service: string): boolean {
  return isRetained(labels) && isKeptFor(serviceOf(labels), service);
}

/** Who may use it, as `consent.ts` reads it. Several namespaces, or Services of one, have dots between them. */
export function consentOf(labels: Labels): readonly string[] {
  const { [labelKeys.consent]: cluster, [labelKeys.consentNamespace]: namespaces } = labels;
  const names = labels[labelKeys.consentService];
  if (cluster === undefined) return [];
  if (namespaces === undefined) return names === undefined ? [cluster] : [];
  const holders = namespaces.split('.').map((namespace) => `${cluster}/${namespace}`);
  return names === undefined ? holders : holders.flatMap((one) => names.split('.').map((name) => `${one}/${name}`));
}
