import { append } from '../../../controller/runtime/append.ts';
import type { WireReply } from '../../kit/cloud/wire.ts';
import type { CloudAnswer, KubeEffect, Observer, ReportTaken } from './observer.ts';

/** What one answer of the cloud said about one instance. */
export interface Seen {
  readonly at: number;
  readonly sentAt: number;
  readonly state: 'found' | 'stopped' | 'gone' | 'absent';
  /** It was asked for by its very id. */
  readonly byId: boolean;
  /** Undefined where the answer does not tell them. */
  readonly addresses: readonly string[] | undefined;
}

/** One look at the signs of life of a Node, which asks for its lease and for the Node together. */
export interface LifeRead {
  /** As the server answered each; undefined = it did not. */
  readonly leaseAt: number;
  readonly nodeAt: number | undefined;
}

/** Everything each process was told that bears on whether a Node may go, as it arrived. */
export interface Evidence extends Observer {
  /** About an instance, `region/id`. */
  seen(identity: string, instance: string): readonly Seen[];
  /** Other instances that were shown alive by id. */
  othersAlive(identity: string, instance: string): readonly Seen[];
  /** All instances of a region that were shown at all. */
  shown(identity: string, region: string): readonly (Seen & { readonly instance: string })[];
  /** When the process last read the Node's lease before `at`, as the server answered it; undefined = never. */
  lastLifeRead(identity: string, nodeName: string, at: number): number | undefined;
  firstLifeReadSince(identity: string, nodeName: string, at: number): LifeRead | undefined;
  reports(identity: string, nodeUid: string): readonly ReportTaken[];
}

export function collectEvidence(): Evidence {
  const answers = new Map<string, Map<string, Seen[]>>();
  const leaseReads = new Map<string, Read[]>();
  const nodeReads = new Map<string, Read[]>();
  const reports = new Map<string, ReportTaken[]>();
  const none: readonly never[] = [];

  function note(identity: string, instance: string, seen: Seen): void {
    const ofProcess = answers.get(identity) ?? new Map<string, Seen[]>();
    answers.set(identity, ofProcess);
    append(ofProcess, instance, seen);
  }

  return {
    cloudAnswer({ at, sentAt, process, path, method, reply }: CloudAnswer) {
      const match = /^\/v1\/projects\/demo\/regions\/([^/]+)\/instances(?:\/([^/:]+))?(?::lookup)?$/.exec(path);
      if (match === null || (method !== 'GET' && !path.endsWith(':lookup'))) return;
      const [, region = '', asked] = match;
      for (const { id, ...said } of readReply(reply, asked)) {
        note(process.identity, `${region}/${id}`, { at, sentAt, byId: asked !== undefined, ...said });
      }
    },
    kubeEffect({ process, call, resource, namespace, name, status, at, sentAt }: KubeEffect) {
      if (call.verb !== 'get' || (status !== 200 && status !== 404)) return;
      const isLease = resource === 'leases' && namespace === 'kube-node-lease';
      if (!isLease && resource !== 'nodes') return;
      append(isLease ? leaseReads : nodeReads, `${process.identity} ${name}`, { at, sentAt });
    },
    report(taken) {
      append(reports, `${taken.process.identity} ${taken.nodeUid}`, taken);
    },
    seen: (identity, instance) => answers.get(identity)?.get(instance) ?? none,
    othersAlive(identity, instance) {
      const region = instance.split('/')[0];
      return [...(answers.get(identity) ?? [])].flatMap(([other, all]) =>
        other !== instance && other.split('/')[0] === region
          ? all.filter(({ byId, state }) => byId && (state === 'found' || state === 'stopped'))
          : [],
      );
    },
    shown(identity, region) {
      return [...(answers.get(identity) ?? [])].flatMap(([instance, all]) =>
        instance.split('/')[0] === region
          ? all.filter(({ state }) => state !== 'absent').map((seen) => ({ ...seen, instance }))
          : [],
      );
    },
    lastLifeRead: (identity, name, at) => leaseReads.get(`${identity} ${name}`)?.findLast((read) => read.at <= at)?.at,
    firstLifeReadSince(identity, name, at) {
      const key = `${identity} ${name}`;
      const lease = leaseReads.get(key)?.find((read) => read.at >= at);
      if (lease === undefined) return undefined;
      return { leaseAt: lease.at, nodeAt: nodeReads.get(key)?.find(({ sentAt }) => sentAt === lease.sentAt)?.at };
    },
    reports: (identity, nodeUid) => reports.get(`${identity} ${nodeUid}`) ?? none,
  };
}

interface Read {
  readonly at: number;
  readonly sentAt: number;
}

interface Item {
  readonly id?: unknown;
  readonly power?: unknown;
  readonly interfaces?: readonly { readonly internal?: readonly string[]; readonly external?: readonly string[] }[];
  readonly hostname?: string;
  readonly internalDns?: readonly string[];
  readonly externalDns?: readonly string[];
}

function readReply(reply: WireReply, asked: string | undefined) {
  if (reply.kind !== 'answer' || reply.cutAfterBytes !== undefined || reply.body.length > 16 * 1024 * 1024) return [];
  let value: unknown;
  try {
    value = JSON.parse(reply.body);
  } catch {
    return [];
  }
  if (asked !== undefined && reply.status === 404) {
    const { code } = (value as { error?: { code?: string } }).error ?? {};
    return code === 'instance-not-found' ? [{ id: asked, state: 'absent' as const, addresses: undefined }] : [];
  }
  if (reply.status !== 200) return [];
  const items = asked === undefined ? (value as { items?: unknown }).items : [value];
  if (!Array.isArray(items)) return [];
  return (items as Item[]).flatMap((item) => {
    if (typeof item?.id !== 'string' || typeof item.power !== 'string') return [];
    const state = item.power === 'terminated' ? 'gone' : item.power === 'stopped' ? 'stopped' : 'found';
    return [{ id: item.id, state: state as Seen['state'], addresses: addressesOf(item) }];
  });
}

function addressesOf({ interfaces, hostname, internalDns, externalDns }: Item): string[] | undefined {
  if (interfaces === undefined || hostname === undefined || !internalDns || !externalDns) return undefined;
  const ips = interfaces.flatMap(({ internal = [], external = [] }) => [...internal, ...external]);
  return [...ips, hostname, ...internalDns, ...externalDns];
}
