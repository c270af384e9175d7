import { labels, names, taints as taintKeys } from '../../../common/well-known.ts';
import type { Truth } from '../actors/truth.ts';
import type { Evidence } from './evidence.ts';
import { conditionOf, type NodeObject, nodeOf } from './node-object.ts';
import type { Break, KubeEffect, Observer, ProcessRef } from './observer.ts';

/** How long after a pause something may still happen. */
const pauseMs = 2000;
/** Two reads of the cloud that leave an address out must be so far apart; clocks may run 1.5 % fast. */
const secondReadMs = 10_000 * 0.98;

/** What holds for every write of the controller, whatever it is for: promises 3, 6, 7, 8, 9, 10 and 14. */
export function judgeWrites(truth: Truth, evidence: Evidence, breaks: Break): Observer {
  const synced = new Map<string, Set<string>>();
  /** Since when each process knows that everything is paused. */
  const knowsPause = new Map<string, number>();
  /** Since when each process knows of a Node, by name, that it is kept from deletion. */
  const knowsKept = new Map<string, Map<string, number>>();
  const configMap = `${names.namespace}/${names.certificates}`;

  function kubeEffect(effect: KubeEffect): void {
    if (!effect.mutating || effect.status > 299) return;
    const { process, call, resource, namespace, name, holder, at, sentAt } = effect;
    const what = `${process.identity} did ${call.verb} ${call.path}`;
    const isLease = resource === 'leases' && namespace === names.namespace;
    if (isLease) return;
    // An event under way when the lease was released in order is harmless, and is not waited for.
    const allowed = resource === 'events' ? effect.holderWhenSent : holder;
    if (allowed !== process.identity)
      breaks(6, `${what} while the Lease was ${holder === '' ? 'free' : `held by ${holder}`}`);
    const since = knowsPause.get(process.identity);
    if (since !== undefined && sentAt > since + pauseMs && resource !== 'events')
      breaks(14, `${what} ${Math.round(sentAt - since)} ms after it knew that everything is paused`);
    if (resource !== 'nodes' && resource !== 'nodes/status') return;
    if (effect.before === undefined) {
      breaks(3, `${what}: it makes Nodes`);
      return;
    }
    const before = nodeOf(effect.before);
    if (truth.foreign.has(before.uid)) breaks(3, `${what}, which is foreign`);
    // Its kubelet could have written that annotation: it holds everything but the deletion.
    const pausedAt = call.verb === 'delete' ? undefined : truth.pausedSince.get(before.uid);
    if (pausedAt !== undefined && at > pausedAt + pauseMs)
      breaks(14, `${what} ${Math.round(at - pausedAt)} ms after a person had paused ${name}`);
    const keptSince = call.verb === 'delete' ? knowsKept.get(process.identity)?.get(name) : undefined;
    if (keptSince !== undefined && sentAt > keptSince + pauseMs)
      breaks(14, `${what} ${Math.round(sentAt - keptSince)} ms after it knew that a person keeps ${name}`);
    const { metadata } = (call.body ?? {}) as { metadata?: { resourceVersion?: string } };
    if (call.verb !== 'delete' && metadata?.resourceVersion === undefined)
      breaks(6, `${what} without a resourceVersion`);
    const after = nodeOf(effect.after);
    if (after !== undefined) judgeChange(effect, before, after, what);
  }

  function judgeChange({ process }: KubeEffect, before: NodeObject, after: NodeObject, what: string): void {
    if (!before.uninitialized && after.uninitialized) breaks(9, `${what}: the uninitialized taint came back`);
    if (before.uninitialized && !after.uninitialized) judgeUntainting(after, what);
    for (const [key, beta] of [
      [labels.zone, labels.zoneBeta],
      [labels.region, labels.regionBeta],
    ] as const) {
      const [held, now] = [before.labels[key], after.labels[key]];
      if (!before.uninitialized && held !== undefined && held !== now && now !== before.labels[beta])
        breaks(9, `${what}: label ${key} changed from ${held} to ${now}`);
    }
    const [type, beta] = [before.labels[labels.instanceType], before.labels[labels.instanceTypeBeta]];
    if (!before.uninitialized && type !== undefined && type !== beta && after.labels[labels.instanceType] !== type)
      breaks(9, `${what}: the type ${type}, set by a person, became ${after.labels[labels.instanceType]}`);
    for (const { key } of before.taints) {
      const ours = key === taintKeys.uninitialized || key === taintKeys.shutdown || key === taintKeys.interruption;
      if (!ours && key !== taintKeys.outOfService && !after.taints.some((taint) => taint.key === key))
        breaks(3, `${what}: it took off the taint ${key}`);
    }
    if (before.providerID !== after.providerID || before.scope !== after.scope) judgeIdentity(after, what);
    if (before.incarnation !== '' && after.incarnation !== before.incarnation)
      judgeRebuilt(process, before, after, what);
    judgeInterruption(process, before, after, what);
    judgeAddresses(process, before, after, what);
  }

  function judgeUntainting(node: NodeObject, what: string): void {
    const lacks = [
      ...(node.providerID === '' ? ['providerID'] : []),
      ...(node.scope === '' ? ['the record of its scope'] : []),
      ...(node.addresses.some(({ type }) => type === 'InternalIP') ? [] : ['an internal address']),
      ...[labels.zone, labels.region, labels.instanceType].filter((key) => node.labels[key] === undefined),
      ...(conditionOf(node, 'cloudInitialized')?.status === 'True' ? [] : ['the condition CloudInitialized']),
      // Only clouds with an API have routes.
      ...(node.providerID.startsWith('simulated://') && conditionOf(node, 'networkUnavailable') === undefined
        ? ['the condition NetworkUnavailable']
        : []),
    ];
    if (lacks.length > 0) breaks(9, `${what}: the uninitialized taint went without ${lacks.join(', ')}`);
  }

  /** An end that is announced stands on the Node whose own agent said so, and on no other. */
  function judgeInterruption(process: ProcessRef, before: NodeObject, after: NodeObject, what: string): void {
    const [was, is] = [before, after].map((node) => conditionOf(node, 'interruption'));
    if (is?.status !== 'True' || (was?.status === 'True' && was.reason === is.reason)) return;
    if (is.reason !== 'Preemption' && is.reason !== 'Termination') return;
    if (!evidence.reports(process.identity, after.uid).some(({ announcesEnd }) => announcesEnd))
      breaks(7, `${what}: the end of ${after.name} is announced, though its own agent never said so`);
  }

  /** A Node follows a rebuilt VM, which its kubelet runs on, only once its own agent has reported it. */
  function judgeRebuilt(process: ProcessRef, before: NodeObject, after: NodeObject, what: string): void {
    const { uid, incarnation } = after;
    if (!evidence.reports(process.identity, uid).some((report) => report.incarnation === incarnation))
      breaks(7, `${what}: it took ${incarnation} for ${before.incarnation}, which its own agent never said`);
    judgeIdentity(after, what);
  }

  /** No report makes a Node stand for another machine than its own; the Node of a lying agent alone does not count. */
  function judgeIdentity(node: NodeObject, what: string): void {
    const vm = truth.vm(node.providerID.split('/').at(-1) ?? '');
    const [kubelet, told] = [node.systemUuid, vm?.incarnation === node.incarnation ? (vm?.smbiosUuid ?? '') : ''];
    if (kubelet !== '' && told !== '' && kubelet !== told)
      breaks(7, `${what}: the kubelet of ${node.name} runs on ${kubelet}, and it was made to stand for ${told}`);
    const vms = truth.vmsOfNode.get(node.uid);
    if (node.providerID === '' || vms === undefined || truth.liars.has(node.uid)) return;
    if (!vms.some((id) => node.providerID.endsWith(`/${id}`)))
      breaks(7, `${what}: ${node.name} runs on ${vms.join(', ')} and was made to stand for ${node.providerID}`);
  }

  function judgeAddresses(process: ProcessRef, before: NodeObject, after: NodeObject, what: string): void {
    const kept = new Set(after.addresses.map(({ address }) => address));
    const gone = before.addresses.filter(({ address }) => !kept.has(address)).map(({ address }) => address);
    const [, region, id] = /^simulated:\/\/([^/]+)\/([^/]+)$/.exec(after.providerID) ?? [];
    if (gone.length === 0 || before.uninitialized || id === undefined) return;
    const reads = evidence.seen(process.identity, `${region}/${id}`);
    for (const address of gone) {
      const omitting = reads.filter(({ addresses }) => addresses !== undefined && !addresses.includes(address));
      const [first, last] = [omitting[0], omitting.at(-1)];
      const twice = first !== undefined && last !== undefined && last.at - first.at >= secondReadMs;
      const reported = evidence
        .reports(process.identity, before.uid)
        .some(({ addresses }) => addresses !== undefined && !addresses.includes(address));
      if (!twice && !(first !== undefined && reported))
        breaks(8, `${what}: address ${address} went after ${omitting.length} reads that leave it out`);
    }
  }

  return {
    kubeEffect,
    kubeSent(process, call, resource, name) {
      if (resource !== 'nodes' && resource !== 'nodes/status') return;
      const known = synced.get(process.identity);
      for (const needed of ['nodes', 'configmaps']) {
        if (known?.has(needed) !== true)
          breaks(10, `${process.identity} sent ${call.verb} ${name} before its cache of ${needed} was complete`);
      }
    },
    cloudSent(process, operation, mutating) {
      if (!mutating) return;
      const since = knowsPause.get(process.identity);
      const now = truth.clock.monotonic();
      if (since !== undefined && now > since + pauseMs)
        breaks(14, `${process.identity} sent ${operation} ${Math.round(now - since)} ms after it knew of the pause`);
      const known = synced.get(process.identity);
      for (const needed of ['nodes', 'services', 'configmaps']) {
        if (known?.has(needed) !== true && (needed !== 'services' || !operation.includes('routes')))
          breaks(10, `${process.identity} sent ${operation} before its cache of ${needed} was complete`);
      }
    },
    listed(process, resource) {
      const known = synced.get(process.identity) ?? new Set();
      synced.set(process.identity, known);
      known.add(resource);
    },
    told({ process, resource, key, object, at }) {
      if (resource !== 'configmaps' || key !== configMap) return;
      const data = (object as { data?: Record<string, string> } | undefined)?.data;
      const before = knowsKept.get(process.identity);
      const kept = (data?.[names.pausedNodesKey] ?? '').split(',').filter((name) => name !== '');
      knowsKept.set(process.identity, new Map(kept.map((name) => [name, before?.get(name) ?? at])));
      if (data?.[names.pausedKey] !== 'true') knowsPause.delete(process.identity);
      else if (!knowsPause.has(process.identity)) knowsPause.set(process.identity, at);
    },
  };
}
