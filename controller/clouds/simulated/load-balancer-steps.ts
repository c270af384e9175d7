import { CloudError, isCloudError } from '../../../common/cloud-error.ts';
import { simulated } from '../../../common/provider-id/simulated.ts';
import type { ApplyOptions } from '../permit.ts';
import { freeAddress } from './load-balancer-addresses.ts';
import { type Address, addressName, type LoadBalancer, readAddress, readLoadBalancer } from './load-balancer-answer.ts';
import type { LoadBalancerReads } from './load-balancer-reads.ts';
import type { SimulatedStep, StepCall } from './load-balancer-step.ts';
import type { MemberSets } from './member-sets.ts';
import { assemble, type Found, foundIn, type SimulatedObserved, withAddress, withLoadBalancer } from './observed.ts';
import { ownedBy } from './ownership.ts';
import { type PieceCall, pieceRequest, stands } from './step-request.ts';
import { type ApiRequest, cloud, invalid, reading, refusalOf, type Transport } from './transport.ts';

export interface StepParts {
  readonly transport: Transport;
  readonly reads: LoadBalancerReads;
  readonly region: string;
  readonly sets: MemberSets;
}

type Apply = (
  step: SimulatedStep,
  observed: SimulatedObserved | undefined,
  options: ApplyOptions,
) => Promise<SimulatedObserved | undefined>;

/** The one request of each step, and what there is after it. */
export function loadBalancerSteps({ transport, reads, region, sets }: StepParts): Apply {
  return async function apply(step, observed, { permit, signal }) {
    const { call, subject } = step;
    const found = foundIn(observed);
    const now = (after: Found) => assemble(subject, after);
    const send = (request: ApiRequest) => transport({ ...request, permit, signal });

    async function loadBalancerOf(operation: string, answer: unknown): Promise<LoadBalancer> {
      const loadBalancer = reading(operation, () => readLoadBalancer(answer, region, sets));
      return reads.complete(loadBalancer, subject.owner, signal);
    }

    switch (call.does) {
      case 'reserve address': {
        const address = await reserve(call);
        return now(withAddress(found, address.id, address));
      }
      case 'change address': {
        const operation = 'addresses.update';
        const request = {
          operation,
          method: 'PATCH',
          path: `/addresses/${call.id}`,
          body: { tags: call.tags },
        } as const;
        const answer = await unlessGone(() => send(request));
        const address = answer === gone ? undefined : reading(operation, () => readAddress(answer));
        return now(withAddress(found, call.id, address));
      }
      case 'release address':
        await unlessGone(() =>
          send({ operation: 'addresses.delete', method: 'DELETE', path: `/addresses/${call.id}` }),
        );
        return now(withAddress(found, call.id, undefined));
      case 'create load balancer': {
        const loadBalancer = await create(call);
        return now(withLoadBalancer(found, loadBalancer.id, loadBalancer));
      }
      default: {
        const { id, loadBalancer } = await change(call);
        return now(withLoadBalancer(found, id, loadBalancer));
      }
    }

    async function reserve({ family, scheme, tags }: StepCall & { does: 'reserve address' }): Promise<Address> {
      const operation = 'addresses.create';
      const token = `address ${scheme} ${family} ${subject.owner.cluster} ${subject.owner.service}`;
      const ask = async (clientToken: string, name?: string) => {
        const answer = await send({ operation, path: '/addresses', body: { clientToken, name, family, scheme, tags } });
        return reading(operation, () => readAddress(answer));
      };
      const first = await ask(token, addressName(subject.name, family, scheme));
      if (ownedBy(first.tags, subject.owner)) {
        const { id, usedBy } = first;
        if (usedBy === undefined || found.loadBalancers.some((one) => one.id === usedBy)) return first;
        // The same answer would come for ever. Most likely it is ours, and the list does not show it yet.
        const message = `address ${id} is in use by load balancer ${usedBy}, which was not seen`;
        throw new CloudError({ kind: 'Conflict', cloud, operation, message });
      }
      // The token made one that is not ours any more: its tags were taken away. Its name is still taken.
      const second = await ask(`${token} not ${first.id}`);
      if (ownedBy(second.tags, subject.owner)) return second;
      throw notOurs(operation, second.id);
    }

    async function create(wish: StepCall & { does: 'create load balancer' }): Promise<LoadBalancer> {
      const operation = 'load-balancers.create';
      const { owner } = subject;
      sets.announce(wish.members);
      const { name, tags, scheme, pool, listeners, members } = wish;
      const addresses = wish.addresses.map(({ id, family }) => id ?? reservedFor(family, scheme, undefined));
      const body = {
        clientToken: `load balancer ${owner.cluster} ${owner.service}`,
        ...{ name, tags, scheme, addresses, families: wish.addresses.map(({ family }) => family) },
        pools: [{ ...pool, members: sets.wire(members) }],
        listeners: listeners.map((listener) => ({ ...listener, pool: pool.name })),
      };
      const request = { operation, path: '/load-balancers?inlineMembers=0', body };
      const loadBalancer = await loadBalancerOf(operation, await namingMembers(() => send(request)));
      if (!ownedBy(loadBalancer.tags, owner)) throw notOurs(operation, loadBalancer.id);
      return loadBalancer;
    }

    async function change(wish: PieceCall): Promise<{ id: string; loadBalancer: LoadBalancer | undefined }> {
      const id = 'loadBalancer' in wish ? wish.loadBalancer : wish.id;
      const before = found.loadBalancers.find((one) => one.id === id);
      if ('members' in wish) sets.announce(wish.members);
      const request = pieceRequest(wish, {
        owner: subject.owner,
        // On a load balancer of somebody else, changes by others are none of ours.
        revision: before && ownedBy(before.tags, subject.owner) ? before.revision : undefined,
        members: sets.wire,
        addressOf: (family) => reservedFor(family, before?.scheme ?? 'external', id),
      });
      try {
        const answer = await namingMembers(() => send(request));
        const left = wish.does === 'delete load balancer' && !isLoadBalancer(answer);
        return { id, loadBalancer: left ? undefined : await loadBalancerOf(request.operation, answer) };
      } catch (error) {
        if (!isCloudError(error) || (error.kind !== 'Conflict' && error.kind !== 'NotFound')) throw error;
        // An earlier request may have had its effect without our hearing of it.
        const fresh = await reads.get(id, signal);
        if (!stands(wish, fresh, subject.owner, sets)) throw error;
        return { id, loadBalancer: fresh };
      }
    }

    function reservedFor(family: Address['family'], scheme: Address['scheme'], heldBy: string | undefined): string {
      const address = freeAddress(found.addresses, family, scheme, heldBy);
      if (address) return address.id;
      const message = `no ${scheme} ${family} address has been reserved for ${subject.name}`;
      throw new CloudError({ kind: 'Conflict', cloud, operation: call.does, message });
    }
  };

  /** Tells refused members by their providerIDs. */
  async function namingMembers<T>(run: () => Promise<T>): Promise<T> {
    try {
      return await run();
    } catch (error) {
      const refusal = refusalOf(error);
      if (!isCloudError(error) || refusal?.code !== 'invalid-member') throw error;
      const ids = refusal.details['ids'];
      const texts = Array.isArray(ids) ? ids.filter((id) => typeof id === 'string') : [];
      const subjects = texts.map((instanceId) => simulated.print({ instanceId, region }));
      const { kind, operation } = error;
      throw new CloudError({ kind, cloud, operation, message: refusal.message, subjects, cause: refusal });
    }
  }
}

const gone = Symbol('gone');

async function unlessGone(run: () => Promise<unknown>): Promise<unknown> {
  try {
    return await run();
  } catch (error) {
    if (isCloudError(error) && error.kind === 'NotFound') return gone;
    throw error;
  }
}

function isLoadBalancer(answer: unknown): boolean {
  return typeof answer === 'object' && answer !== null && 'id' in answer;
}

function notOurs(operation: string, id: string): CloudError {
  const message = `${id} was made for this Service, and its tags do not say so any more`;
  return new CloudError({ kind: 'Conflict', cloud, operation, message, cause: invalid(operation, message) });
}
