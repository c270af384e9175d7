import type { Found, Kind } from '../../../engine/resource.ts';
import type { AnswerFields } from '../../answer-fields.ts';
import type { HetznerClient } from '../client.ts';
import { kindNames } from './balancer.ts';
import { settleMs } from './balancers.ts';
import { isRetained, type Labels, labelsOfNew, type Marks, marked, ownerOf, retained } from './labels.ts';

export type Certificate = ReturnType<typeof foundCertificate>['body'];

/** Of one that the cloud is to get. */
export interface CertificateSpec {
  readonly name: string;
  /** The classic controller makes one of its name where there is none, and stops where two have its label. */
  readonly hasClassicName: boolean;
  readonly domains: readonly string[];
  readonly isStaging: boolean;
  readonly marks: Marks;
}

export const certificatePath = '/certificates';

/** @throws CloudError `Invalid` */
export function foundCertificate(fields: AnswerFields) {
  const id = fields.id('id');
  const labels = fields.labels('labels');
  const owner = ownerOf(labels);
  const body = { id, name: fields.text('name'), labels, domains: fields.texts('domain_names') };
  return {
    kind: kindNames.certificate,
    id,
    status: 'ready',
    slots: [`certificate ${body.name}`],
    body,
    // That a port refers to it proves nothing: the Service's annotations name it.
    ...(owner === undefined ? { consentForAnyCluster: true } : { owner, key: 'managed' }),
    ...(isRetained(labels) && { retained: true }),
  } satisfies Found;
}

export function sameDomains(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((domain) => b.includes(domain));
}

/** One that the cloud gets and renews, for one Service. Those that a person uploaded are only used. */
export function certificateKind(client: HetznerClient): Kind<CertificateSpec, Certificate> {
  const label = async (id: string, labels: Labels, { permit, signal }: Parameters<NonNullable<Kind['mark']>>[3]) => {
    const request = { path: `${certificatePath}/${id}`, method: 'PUT', body: { labels }, permit, signal } as const;
    return { found: [foundCertificate((await client.call(request)).object('certificate'))] };
  };
  return {
    kind: kindNames.certificate,
    retryCreate: 'atOnce',
    settleMs,
    compare: ({ body }, { domains }) =>
      sameDomains(body.domains, domains)
        ? { same: true }
        : { replace: `domains ${body.domains.join(', ')} to ${domains.join(', ')}`, order: 'createFirst' },
    async create({ spec: { name, hasClassicName, domains, isStaging, marks } }, _inside, { permit, signal }) {
      const own = hasClassicName ? labelsOfNew(marks) : marked({}, marks);
      const labels = { ...own, ...(isStaging && { 'HC-Use-Staging-CA': 'true' }) };
      const body = { name, type: 'managed', domain_names: domains, labels };
      const answer = await client.call({ path: certificatePath, method: 'POST', body, permit, signal });
      // A port can have it before it is issued, which takes as long as the domains' DNS.
      const found = foundCertificate(answer.object('certificate'));
      return { id: found.id, found: [found] };
    },
    async remove({ id }, { permit, signal }) {
      await client.send({ path: `${certificatePath}/${id}`, method: 'DELETE', permit, signal });
      return {};
    },
    mark: ({ id, body: { labels } }, as, want, io) =>
      label(id, as === 'ours' ? marked(labels, want!.spec.marks) : retained(labels), io),
  };
}
