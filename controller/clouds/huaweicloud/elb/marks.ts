import { type Owner, ownerTags } from '../../load-balancers.ts';

/** What shows the address: the EIP, or the private address of the load balancer. */
export type Front = 'eip' | 'vip';

/** What the description of a resource says. Tags of a shared load balancer would come by a call after its create. */
export interface Marks {
  readonly owner?: Owner;
  /** `namespace/name`. */
  readonly service?: string | undefined;
  readonly front?: Front | undefined;
  /** `namespace/name` of the Service that it was kept for. */
  readonly retained?: string | undefined;
  /** In the form of `consent.ts`. */
  readonly consent?: string | undefined;
}

export function printMarks({ cluster, service: uid }: Owner, service: string, front?: Front): string {
  return ['mooring', cluster, uid, service, ...(front === undefined ? [] : [front])].join(' ');
}

export function printRetained(service: string | undefined): string {
  return `${ownerTags.retained}=${service ?? 'unknown'}`;
}

export function marksIn(description: string): Marks {
  const [, cluster, uid, service, front] = /^mooring (\S+) (\S+) (\S+\/\S+)(?: (eip|vip))?$/.exec(description) ?? [];
  if (cluster !== undefined && uid !== undefined)
    return { owner: { cluster, service: uid }, service, front: front as Front | undefined };
  const value = (key: string) => {
    const at = description.indexOf(`${key}=`);
    return at === -1 ? undefined : description.slice(at + key.length + 1);
  };
  return { retained: value(ownerTags.retained)?.split(' ')[0], consent: value(ownerTags.consent) };
}

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** The name of an EIP, which comes with its create: both UIDs in 64 characters without a slash. */
export function printAlias({ cluster, service }: Owner): string {
  const short = (uid: string) => {
    if (!uuid.test(uid)) throw new Error(`${JSON.stringify(uid)}: no UUID, which the name of an EIP has room for`);
    return Buffer.from(uid.replaceAll('-', ''), 'hex').toString('base64url');
  };
  return `mooring.${short(cluster)}.${short(service)}`;
}

export function ownerInAlias(alias: string): Owner | undefined {
  const [, cluster, service] = /^mooring\.([\w-]{22})\.([\w-]{22})$/.exec(alias) ?? [];
  const long = (short: string) =>
    Buffer.from(short, 'base64url')
      .toString('hex')
      .replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
  return cluster && service ? { cluster: long(cluster), service: long(service) } : undefined;
}
