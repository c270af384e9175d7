import { CloudError } from '../../../../common/cloud-error.ts';
import type { Change, Kind } from '../../../engine/resource.ts';
import type { HuaweiClient } from '../client.ts';
import { cloud } from '../fault.ts';
import { type Balancer, foundBalancer, kindNames } from './found.ts';
import { type Front, printMarks, printRetained } from './marks.ts';
import { changesOf, elbPath, erase, fixedDifference, type Mutating, type PartSpec, settleMs, write } from './parts.ts';
import type { Subnets } from './subnets.ts';

export interface BalancerSpec extends PartSpec {
  readonly isShared: boolean;
  /** `namespace/name`. */
  readonly service: string;
  readonly front: Front;
  /** Id of the subnet of a new one; undefined: that of the first of these addresses. */
  readonly subnet: string | undefined;
  readonly near: readonly string[];
}

const collection = 'loadbalancers';

/** A load balancer without its parts. Its description says whose it is. */
export function balancerKind(client: HuaweiClient, subnets: Subnets): Kind<BalancerSpec, Balancer> {
  async function set(id: string, body: object, io: Mutating) {
    return { found: foundBalancer(await write(client, collection, id, { ...body }, io)) };
  }
  return {
    // Names are not unique: a create that is sent again makes a second one.
    kind: kindNames.balancer,
    locks: true,
    retryCreate: 'afterSearch',
    settleMs,
    compare({ body, owner }, spec, pointsAt) {
      const other = fixedDifference(body, spec);
      if (other !== undefined) return { replace: other, order: 'deleteFirst' };
      const changes: Change[] = changesOf(kindNames.balancer, body, spec, pointsAt);
      // The marks of what is taken over come with its first change.
      if (owner !== undefined && (body.marks.service !== spec.service || body.marks.front !== spec.front)) {
        const description = printMarks(owner, spec.service, spec.front);
        const summary = `load balancer ${body.name}: description`;
        changes.push({ what: 'marks', phase: 'set', summary, body: { fields: { description } } satisfies PartSpec });
      }
      return changes.length === 0 ? { same: true } : { changes };
    },
    async create({ spec }, _inside, io) {
      const { isShared, service, front, once = {}, fields, subnet, near } = spec;
      const { permit, signal } = io;
      const vip = subnet === undefined ? await subnetNear(near, signal) : await subnets.byId(subnet, signal);
      const description = printMarks(io.owner, service, front);
      if (!isShared) {
        const body = { ...once, ...fields, description, guaranteed: true, vip_subnet_cidr_id: vip };
        const found = foundBalancer(await write(client, collection, undefined, body, io));
        return { id: found[0]!.id, found };
      }
      // The newer API makes dedicated ones alone.
      const body = { loadbalancer: { name: once['name'], description, vip_subnet_id: vip, provider: 'vlb' } };
      const path = '/v2/{project}/elb/loadbalancers';
      const answer = await client.call({ service: 'elb', path, method: 'POST', body, permit, signal });
      return { id: answer.object('loadbalancer').text('id') };
    },
    update: ({ id }, { body }, io) => set(id, (body as PartSpec).fields, io),
    async remove({ id, body }, { permit, signal }) {
      const query = [['loadbalancer_id', id]] as const;
      const request = { service: 'elb', path: `${elbPath}/listeners`, query, urgency: 'change', signal } as const;
      const [, name] = (body.marks.service ?? body.name.replace(/_([^_]+)$/, '/$1')).split('/');
      const listeners = await client.list(request, 'listeners');
      const others = listeners.filter((one) => !one.optionalText('name')?.startsWith(`${name}_`));
      if (others.length > 0) {
        // Everything on it goes with it.
        const ids = others.map((one) => one.text('id')).join(', ');
        const message = `load balancer ${id} has listeners of others: ${ids}`;
        throw new CloudError({ kind: 'Conflict', cloud, operation: 'DELETE elb', message });
      }
      return erase(client, { service: 'elb', path: `${elbPath}/loadbalancers/${id}/force-elb`, permit, signal });
    },
    mark: ({ id, body }, as, want, io) => {
      const { service, front } = as === 'ours' ? want!.spec : body.marks;
      const description = as === 'ours' ? printMarks(io.owner, service!, front) : printRetained(service);
      return set(id, { description }, io);
    },
  };

  async function subnetNear(near: readonly string[], signal: AbortSignal | undefined): Promise<string> {
    for (const address of near) {
      const found = await subnets.holding(address, signal);
      if (found !== undefined) return found;
    }
    const message = '[Vpc] subnet-id: missing, expected it or kubernetes.io/elb.subnet-id: no Node is in a subnet';
    throw new CloudError({ kind: 'Invalid', cloud, operation: 'create', message });
  }
}
