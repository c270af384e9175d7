import { CloudError, isCloudError } from '../../../../common/cloud-error.ts';
import type { ApplyOptions } from '../../permit.ts';
import type { OpenStackClient } from '../client.ts';
import { faultOf, isThingNotFound } from '../fault.ts';
import { numberOf, objectOf } from '../json.ts';
import { type LoadBalancer, type Pool, readFloatingIp, readGroup, readNodePort } from './answer.ts';
import { listings } from './listings.ts';
import { markIn } from './names.ts';
import { type Found, foundIn, type OctaviaObserved } from './observed.ts';
import { changed, outcomeOf, withBalancer, withGroup } from './outcome.ts';
import { servesOthers } from './plan-pieces.ts';
import { isPending } from './plan-wait.ts';
import type { Reads } from './reads.ts';
import { type Resolved, requestOf } from './requests.ts';
import type { OctaviaStep, StepCall } from './step.ts';
import { ownedBy, ownerTagsOf, sameTags } from './tags.ts';

export type Apply = (
  step: OctaviaStep,
  observed: OctaviaObserved | undefined,
  options: ApplyOptions,
) => Promise<OctaviaObserved | undefined>;

/** The one request of each step, and what there is after it; Octavia is at work on it then, and what comes of that a later look shows. */
export function octaviaSteps({ client, reads }: { readonly client: OpenStackClient; readonly reads: Reads }): Apply {
  return async function apply(step, observed, { permit, signal }) {
    const { call, subject } = step;
    const { owner } = subject;
    const found: Found = observed ? foundIn(observed) : await reads.nothing(owner, signal);
    const now = (after: Found, sure = false): OctaviaObserved | undefined => {
      const result = reads.assemble(subject, after);
      reads.memory.remember(subject, result, sure);
      return result;
    };

    const made = (await madeBefore()) ?? (await changedMeanwhile());
    if (made) return now(made);
    const resolved = await resolve();
    if (call.does === 'update port') return now(await changePort(call));
    const headers = call.does === 'update floating IP' ? await revisionOf(call) : undefined;
    const request = requestOf(call, resolved);
    if (resolved.pool !== '') reads.forgetInside(resolved.pool);
    let answer: unknown;
    try {
      answer = await client.change({ ...request, headers, urgency: 'change', permit, signal });
    } catch (error) {
      const after = await afterRefusal(error);
      if (after === undefined) {
        reads.memory.forget(owner);
        if (step.action === 'create') reads.memory.lost(owner);
        throw error;
      }
      return now(after);
    }
    // A port that was there before may have a floating IP.
    const whole =
      call.does !== 'fail over load balancer' &&
      (call.does !== 'create load balancer' || call.body.vipPortId === undefined);
    // Neutron's things change nothing of how well the load balancer is known.
    const sure = request.service === 'load-balancer' ? whole : (reads.memory.recall(owner)?.sure ?? false);
    return now(request.service === 'load-balancer' ? begun(after(answer)) : after(answer), sure);

    /** What an earlier try has made without our hearing of it. Not asked for when a look has told all that there is, and every answer since has come. */
    async function madeBefore(): Promise<Found | undefined> {
      if (reads.memory.knowsAll(owner)) return undefined;
      switch (call.does) {
        case 'create load balancer': {
          const hits = await reads.list(
            listings.loadBalancers,
            [['tags', ownerTagsOf(owner).join(',')]],
            signal,
            'change',
          );
          const there = hits.find(({ status, tags }) => status !== 'DELETED' && ownedBy(tags, owner));
          // Its pieces are read when Octavia has come to an end.
          return there && withBalancer(found, { ...there, status: pendingOf(there) });
        }
        case 'create pool': {
          const hits = await reads.list(
            listings.pools,
            [
              ['loadbalancer_id', call.loadBalancer],
              ['tags', [...ownerTagsOf(owner), call.portTag].join(',')],
            ],
            signal,
            'change',
          );
          const known = new Set(balancer(call.loadBalancer)?.pools.map(({ id }) => id));
          const there = hits.find(
            ({ id, protocol, listenerIds }) =>
              protocol === call.pool.protocol && listenerIds.length === 0 && !known.has(id),
          );
          return (
            there &&
            changed(found, call.loadBalancer, (one) => ({ ...one, pools: [...one.pools, { ...there, members: [] }] }))
          );
        }
        case 'create floating IP': {
          const hits = await reads.list(
            listings.floatingIps,
            [['description', call.body.description]],
            signal,
            'change',
          );
          const there = hits.find(({ id }) => !found.floatingIps.some((one) => one.id === id));
          return there && { ...found, floatingIps: [...found.floatingIps, there] };
        }
        case 'create security group': {
          const hits = await reads.list(listings.groups, [['name', call.name]], signal, 'change');
          const there = hits.find(({ description }) => markIn(description)?.service === owner.service);
          return there && { ...found, group: there };
        }
        default:
          return undefined;
      }
    }

    /**
     * A whole load balancer and its address go by what is there now: what was seen may be of a while ago, and somebody may have come to use it, or have mended it.
     */
    async function changedMeanwhile(): Promise<Found | undefined> {
      if (reads.memory.isOfNow(observed)) return undefined;
      const deletesAddress = call.does === 'delete floating IP' && found.floatingIps.find(({ id }) => id === call.id);
      const target =
        call.does === 'delete load balancer'
          ? balancer(call.id)
          : found.loadBalancers.find(({ vipPortId }) => deletesAddress && vipPortId === deletesAddress.portId);
      // One that is being deleted serves nobody any more.
      if (target === undefined || target.status === 'PENDING_DELETE') return undefined;
      const seen = await reads.get(target.id, signal);
      if (seen === undefined) return undefined;
      const fresh = reads.memory.timed(seen);
      const query = [['load_balancer_id', target.id]] as const;
      const known = new Set(target.listeners.map(({ id }) => id));
      const isKnown = fresh.listenerIds?.length === known.size && fresh.listenerIds.every((id) => known.has(id));
      const listeners = isKnown ? target.listeners : await reads.list(listings.listeners, query, signal, 'change');
      const isSame = fresh.status === target.status && sameTags(fresh.tags, target.tags);
      if (isSame && servesOthers({ ...fresh, listeners }, subject) === servesOthers(target, subject)) return undefined;
      return withBalancer(found, { ...fresh, listeners, pools: target.pools });
    }

    /** An address that two Services name goes to one of them. */
    async function revisionOf({ id, portId }: StepCall & { does: 'update floating IP' }) {
      if (portId === undefined || portId === null) return undefined;
      const operation = 'GET /floatingips/{id}';
      const json = await client.get({
        service: 'network',
        path: `/floatingips/${id}`,
        operation,
        urgency: 'change',
        signal,
      });
      const { portId: held } = readFloatingIp(json, operation);
      if (held !== undefined && held !== portId) {
        const message = `floating IP ${id} is attached to port ${held} meanwhile`;
        throw new CloudError({ kind: 'Conflict', cloud: 'openstack', operation, message });
      }
      const revision = numberOf(objectOf(objectOf(json)?.['floatingip'])?.['revision_number']);
      return revision === undefined ? undefined : { 'if-match': `revision_number=${revision}` };
    }

    async function resolve(): Promise<Resolved> {
      const host = 'loadBalancer' in call ? balancer(call.loadBalancer) : undefined;
      const pool =
        'pool' in call && typeof call.pool === 'string'
          ? call.pool
          : 'portTag' in call
            ? host?.pools.find((one) => isPoolFor(one, call.portTag))?.id
            : undefined;
      if ('portTag' in call && call.does !== 'create pool' && pool === undefined)
        throw missing(`the pool for ${call.portTag}`);
      if (call.does === 'create load balancer') {
        const { placement, vipPortId, near } = call.body;
        const placed = vipPortId !== undefined || placement.networkId !== undefined || placement.subnetId !== undefined;
        const vipSubnetId = placed ? placement.subnetId : await reads.subnetOf(near, signal);
        if (!placed && vipSubnetId === undefined) {
          throw new CloudError({
            kind: 'Invalid',
            cloud: 'openstack',
            operation: 'create load balancer',
            message: `no subnet for the VIP: name subnet-id in the cloud config; no port has any of the members' addresses ${near.map(({ address }) => address).join(', ')}`,
          });
        }
        return { owner, pool: '', subnetId: vipSubnetId, vipSubnetId, group: '' };
      }
      if (call.does === 'create security group rule' && (call.group ?? found.group?.id) === undefined)
        throw missing('the security group');
      return {
        owner,
        pool: pool ?? '',
        subnetId: host?.vipSubnetId || undefined,
        vipSubnetId: undefined,
        group: found.group?.id ?? '',
      };
    }

    function isPoolFor({ tags, listenerIds }: Pool, portTag: string): boolean {
      return ownedBy(tags, owner) && tags.includes(portTag) && listenerIds.length === 0;
    }

    function missing(what: string): CloudError {
      return new CloudError({
        kind: 'Conflict',
        cloud: 'openstack',
        operation: call.does,
        message: `${what} is not there`,
      });
    }

    /** An answer that means that it is done already, or that another way has to be taken. */
    async function afterRefusal(error: unknown): Promise<Found | undefined> {
      if (!isCloudError(error)) return undefined;
      if (call.does.startsWith('delete') && isThingNotFound(error)) return after(undefined);
      const { status, type } = faultOf(error) ?? {};
      if (
        call.does === 'fail over load balancer' &&
        (error.kind === 'Forbidden' || status === 501 || status === 400 || error.kind === 'NotFound')
      ) {
        if (error.kind === 'Forbidden' || status === 501) reads.memory.noteNoFailover();
        return { ...found, noFailover: true };
      }
      if (call.does === 'create security group rule' && type === 'SecurityGroupRuleExists')
        return withGroup(found, await readGroupAgain());
      const isFull = type === 'IpAddressGenerationFailure' || type === 'ExternalIpAddressExhausted';
      if (call.does === 'create floating IP' && call.body.subnetId !== undefined && isFull) {
        return { ...found, full: [...found.full, call.body.subnetId] };
      }
      return undefined;
    }

    function after(answer: unknown): Found {
      const { pool } = resolved;
      const again = call.does === 'delete load balancer' || call.does === 'fail over load balancer';
      if (again && balancer(call.id)?.status === 'ERROR') reads.memory.noteRecreation(owner);
      return outcomeOf(call, found, { answer, pool, owner, operation: requestOf(call, resolved).operation });
    }

    /** Octavia has begun to work on what was changed. */
    function begun(found: Found): Found {
      const begins = (one: LoadBalancer) => isPending(one) && one.pendingMs === 0;
      const loadBalancers = found.loadBalancers.map((one) => (begins(one) ? reads.memory.begun(one, call.does) : one));
      return { ...found, loadBalancers };
    }

    async function readGroupAgain() {
      const operation = 'GET /security-groups/{id}';
      const id = found.group?.id ?? '';
      return readGroup(
        await client.get({ service: 'network', path: `/security-groups/${id}`, operation, signal }),
        operation,
      );
    }

    function balancer(id: string): LoadBalancer | undefined {
      return found.loadBalancers.find((one) => one.id === id);
    }

    /** The groups of a port as they are now with one more or less; a change by somebody else in between is a conflict. */
    async function changePort({ id, add, remove }: StepCall & { does: 'update port' }): Promise<Found> {
      const operation = 'PUT /ports/{id}';
      const group = add === undefined ? undefined : (found.group?.id ?? add);
      try {
        const port = readNodePort(
          await client.get({ service: 'network', path: `/ports/${id}`, operation: 'GET /ports/{id}', signal }),
          operation,
        );
        const groups = [
          ...port.groups.filter((one) => one !== remove && one !== group),
          ...(group === undefined ? [] : [group]),
        ];
        const answer = await client.change({
          ...{ service: 'network', method: 'PUT', path: `/ports/${id}`, operation, urgency: 'change', permit, signal },
          body: { port: { security_groups: groups } },
          ...(port.revision === undefined ? {} : { headers: { 'if-match': `revision_number=${port.revision}` } }),
        });
        const after = readNodePort(answer, operation);
        return { ...found, ports: found.ports.map((one) => (one.id === id ? after : one)) };
      } catch (error) {
        if (!isThingNotFound(error)) throw error;
        return { ...found, ports: found.ports.filter((one) => one.id !== id) };
      }
    }
  };
}

/** One that is found is looked at again before anything is built on it. */
function pendingOf({ status }: LoadBalancer): string {
  return status === 'ACTIVE' ? 'PENDING_UPDATE' : status;
}
