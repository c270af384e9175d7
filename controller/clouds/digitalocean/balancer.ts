import { digitalocean } from '../../../common/provider-id/digitalocean.ts';
import type { Found } from '../../engine/resource.ts';
import type { AnswerFields } from '../answer-fields.ts';
import { timeIn } from '../answer-values.ts';
import { canonical } from '../ip-address.ts';
import type { ObservedMember } from '../load-balancers.ts';
import { parseName } from './names.ts';

/** Kinds of resources. Certificates are only used. */
export const kindNames = { balancer: 'load balancer', certificate: 'certificate' } as const;

/** The wire's own fields. */
export type Json = { readonly [name: string]: unknown };

export type Balancer = ReturnType<typeof foundBalancer>['body'];
export type Certificate = ReturnType<typeof foundCertificate>['body'];

const statuses = { new: 'pending', active: 'ready', errored: 'failed' } as const;

/** @throws CloudError `Invalid` */
export function foundBalancer(fields: AnswerFields) {
  const id = fields.text('id');
  const name = fields.text('name');
  const mark = parseName(name);
  const droplets = ((fields.json()['droplet_ids'] ?? []) as readonly unknown[]).map(Number);
  const addresses = [fields.optionalText('ip'), fields.optionalText('ipv6')].flatMap((ip) =>
    ip === undefined ? [] : canonical(ip),
  );
  const rules = fields.optionalObjects('forwarding_rules');
  const status = statuses[fields.text('status') as keyof typeof statuses] ?? 'ready';
  const body = {
    id,
    name,
    /** Undefined: its name is not of ours. */
    mark,
    droplets,
    addresses,
    /** All that it is. */
    wire: fields.json(),
    createdAtMs: timeIn(fields, 'created_at'),
    /** Slug. A global one has none. */
    region: fields.optionalObject('region')?.optionalText('slug') ?? '',
    members: droplets.map((each): ObservedMember => {
      return { providerID: digitalocean.print({ instanceId: String(each) }), draining: false, healthy: undefined };
    }),
    /** Of its rules. */
    certificates: rules.flatMap((rule) => rule.optionalText('certificate_id') ?? []),
  };
  return {
    kind: kindNames.balancer,
    id,
    slots: [`name ${name}`],
    status,
    body,
    ...(mark && !mark.isKept && { owner: mark.owner, key: 'main' }),
    ...(mark?.isKept && { retained: true }),
    ...(status === 'pending' && { operation: id }),
    ...(addresses[0] !== undefined && { address: addresses[0] }),
  } satisfies Found;
}

/** @throws CloudError `Invalid` */
export function foundCertificate(fields: AnswerFields) {
  const body = { id: fields.text('id'), name: fields.text('name') };
  return {
    kind: kindNames.certificate,
    id: body.id,
    status: 'ready',
    consentForAnyCluster: true,
    body,
  } satisfies Found;
}
