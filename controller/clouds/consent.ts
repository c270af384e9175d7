/**
 * Who may use a resource, as its owner wrote into a tag: `<cluster UID>/<namespace>/<name>` for one Service, `<cluster
 * UID>/<namespace>` for a namespace, `<cluster UID>` for every namespace of the cluster. Several entries are separated
 * by commas or white space, as far as the cloud's tags allow.
 */
export interface Consent {
  /** UID of the namespace kube-system. */
  readonly cluster: string;
  /** Undefined = every namespace. */
  readonly namespace: string | undefined;
  /** Undefined = every Service of the namespace. */
  readonly name: string | undefined;
}

/** A namespace, or one Service of it. */
export type Holder = Pick<Consent, 'name'> & { readonly namespace: string };

/** The Service that asks. */
export interface Claimant {
  /** UID of the namespace kube-system. */
  readonly cluster: string;
  readonly namespace: string;
  readonly name: string;
}

/**
 * `cluster-wide`: only an entry without a namespace covers the Service, which is enough only with
 * `--allow-cluster-wide-attach`.
 */
export type ConsentKind = 'named' | 'cluster-wide' | 'none';

const separators = /[\s,]+/;
const label = /^[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?$/;

/** @returns the valid entries, and the unreadable ones as written, which give no consent */
export function parseConsent(value: string): { readonly consents: Consent[]; readonly unreadable: string[] } {
  const consents: Consent[] = [];
  const unreadable: string[] = [];
  for (const entry of value.split(separators)) {
    if (entry === '') continue;
    const slash = entry.indexOf('/');
    const cluster = slash < 0 ? entry : entry.slice(0, slash);
    const holder = slash < 0 ? everyNamespace : parseHolder(entry.slice(slash + 1));
    if (cluster === '' || holder === undefined) unreadable.push(entry);
    else consents.push({ cluster, ...holder });
  }
  return { consents, unreadable };
}

const everyNamespace = { namespace: undefined, name: undefined };

/** `namespace` or `namespace/name`; undefined when it is neither. */
export function parseHolder(text: string): Holder | undefined {
  const [namespace = '', name, ...more] = text.split('/');
  if (more.length > 0 || !label.test(namespace) || (name !== undefined && !label.test(name))) return undefined;
  return { namespace, name };
}

export function printConsent({ cluster, namespace, name }: Consent): string {
  return [cluster, namespace, name].filter((part) => part !== undefined).join('/');
}

/**
 * The consent that the tag of a resource gives to a Service. An entry for the Service or its namespace takes precedence
 * over one for the whole cluster.
 *
 * @param values of the tag; several where the cloud allows a key more than once
 */
export function consentFor(values: string | readonly string[] | undefined, claimant: Claimant): ConsentKind {
  const all = [values ?? []].flat().flatMap((value) => parseConsent(value).consents);
  const here = all.filter(({ cluster }) => cluster === claimant.cluster);
  const isNamed = ({ namespace, name }: Consent) => namespace !== undefined && includes({ namespace, name }, claimant);
  if (here.some(isNamed)) return 'named';
  return here.some(({ namespace }) => namespace === undefined) ? 'cluster-wide' : 'none';
}

/** Whether a namespace or Service is or includes the Service that asks. */
export function includes(holder: Holder, { namespace, name }: Omit<Claimant, 'cluster'>): boolean {
  return holder.namespace === namespace && (holder.name === undefined || holder.name === name);
}

/** @param service `namespace/name` */
export function claimantOf(cluster: string, service: string): Claimant {
  const [namespace = '', name = ''] = service.split('/');
  return { cluster, namespace, name };
}
