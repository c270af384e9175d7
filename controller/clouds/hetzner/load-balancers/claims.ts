import { CloudError } from '../../../../common/cloud-error.ts';
import type { Kind, WriteIo } from '../../../engine/resource.ts';
import type { HetznerClient } from '../client.ts';
import { cloud } from '../fault.ts';
import { type Balancer, kindNames, readBalancer } from './balancer.ts';
import { path, put } from './calls.ts';
import { isRetained, type Labels, labelKeys, type Marks, marked, ownerOf, retained, unmarked } from './labels.ts';

export interface ClaimSpec {
  readonly marks: Marks;
}

/** Labels on a load balancer of others for as long as one Service of ours uses it: its parts can carry none. */
export function claimKind(client: HetznerClient): Kind<ClaimSpec, Balancer> {
  /** @throws CloudError `Taken` where another Service has claimed it meanwhile */
  async function labelsOf(id: string, { owner, signal }: WriteIo): Promise<Labels> {
    // All labels are written together, so those of others have to be of this moment.
    const answer = await client.call({ path: `${path}/${id}`, urgency: 'change', signal });
    const { labels } = readBalancer(answer.object('load_balancer'));
    const holder = ownerOf(labels);
    if (holder !== undefined && (holder.service !== owner.service || holder.cluster !== owner.cluster)) {
      const message = `load balancer ${id} is used by another Service`;
      throw new CloudError({ kind: 'Taken', cloud, operation: `PUT ${path}/{id}`, message });
    }
    return labels;
  }
  const claimed = (labels: Labels, marks: Marks): Labels => ({
    ...marked(labels, marks),
    [labelKeys.attached]: 'true',
    // Of a Service that has gone: it is to stay when this one goes, too.
    ...(isRetained(labels) && { [labelKeys.retained]: 'true' }),
  });
  return {
    kind: kindNames.claim,
    within: kindNames.balancer,
    retryCreate: 'atOnce',
    compare: ({ body: { labels } }, { marks }) =>
      sameLabels(labels, claimed(labels, marks))
        ? { same: true }
        : { changes: [{ what: 'labels', summary: 'update labels', phase: 'set', body: marks }] },
    async create({ spec: { marks } }, _inside, io) {
      return put(client, io.within!, { labels: claimed(await labelsOf(io.within!, io), marks) }, io);
    },
    update: async ({ id }, { body }, io) =>
      put(client, id, { labels: claimed(await labelsOf(id, io), body as Marks) }, io),
    async remove({ id }, io) {
      const labels = await labelsOf(id, io);
      return put(client, id, { labels: isRetained(labels) ? retained(labels) : unmarked(labels) }, io);
    },
  };
}

export function sameLabels(a: Labels, b: Labels): boolean {
  const keys = Object.keys(a);
  return keys.length === Object.keys(b).length && keys.every((key) => a[key] === b[key]);
}
