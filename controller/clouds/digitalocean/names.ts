import type { Owner } from '../load-balancers.ts';

/** What the name of a load balancer of ours says. */
export interface Mark {
  readonly owner: Owner;
  /** `namespace/name` of the Service. */
  readonly service: string;
  /** The name that its annotation asks for. */
  readonly title?: string | undefined;
  /** For the Service's status: instead of addresses. */
  readonly hostname?: string | undefined;
  /** It stayed when its Service went. */
  readonly isKept?: boolean;
}

/** The API takes no more. */
export const maxNameLength = 255;

/**
 * Load balancers of DigitalOcean show no tags (they can be given at creation, and no answer has them), so their names
 * say whose they are: `[TITLE.name.][HOSTNAME.host.]NAMESPACE.SERVICE.k8s.CLUSTER.UID`, with `kept` in place of `k8s`
 * after the Service. Names are unique in an account, so the name also keeps a create that is repeated from making a
 * second one.
 */
export function printName({ owner, service, title, hostname, isKept = false }: Mark): string {
  return [
    ...(title === undefined ? [] : [title, 'name']),
    ...(hostname === undefined ? [] : [hostname, 'host']),
    ...service.split('/'),
    isKept ? 'kept' : 'k8s',
    owner.cluster,
    owner.service,
  ].join('.');
}

const marked = new RegExp(
  [
    /^(?:(?<title>.+?)\.name\.)?(?:(?<hostname>.+)\.host\.)?(?<namespace>[\w-]+)\.(?<name>[\w-]+)/.source,
    /\.(?<how>k8s|kept)\.(?<cluster>[\w-]+)\.(?<uid>[\w-]+)$/.source,
  ].join(''),
);

/** Undefined for a name that is not ours. A title cannot pretend to be another Service's: the end counts. */
export function parseName(text: string): Mark | undefined {
  const groups = marked.exec(text)?.groups;
  if (groups === undefined) return undefined;
  const { title, hostname, namespace, name, how, cluster, uid } = groups;
  return {
    owner: { cluster: cluster!, service: uid! },
    service: `${namespace}/${name}`,
    title,
    hostname,
    isKept: how === 'kept',
  };
}
