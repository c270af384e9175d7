import { digitalocean } from '../../../common/provider-id/digitalocean.ts';
import type { Found } from '../../engine/resource.ts';
import type { AnswerFields } from '../answer-fields.ts';
import { timeIn } from '../answer-values.ts';
import { canonical } from '../ip-address.ts';
import type { ObservedMember } from '../load-balancers.ts';
import { type Mark, parseName } from './names.ts';

/** Kinds of resources. Certificates are only used. */
export const kindNames = { balancer: 'load balancer', certificate: 'certificate' } as const;

/** The wire's own fields. */
export type Json = { readonly [name: string]: unknown };

/** A load balancer as the API shows it, as far as we read it. */
export interface Balancer {
  readonly id: string;
  readonly name: string;
  /** Undefined: its name is not of ours. */
  readonly mark: Mark | undefined;
  /** Milliseconds since 1970. */
  readonly createdAtMs: number | undefined;
  /** Slug. */
  readonly region: string;
  readonly addresses: readonly string[];
  readonly droplets: readonly number[];
  readonly members: readonly ObservedMember[];
  /** Certificates of its rules. */
  readonly certificates: readonly string[];
  /** All that it is. */
  readonly wire: Json;
}

export interface Certificate {
  readonly id: string;
  readonly name: string;
}

const statuses: Readonly<Record<string, Found['status']>> = { new: 'pending', active: 'ready', errored: 'failed' };

/** @throws CloudError `Invalid` */
export function foundBalancer(fields: AnswerFields): Found<Balancer> {
  const id = fields.text('id');
  const name = fields.text('name');
  const mark = parseName(name);
  const droplets = ((fields.json()['droplet_ids'] ?? []) as readonly unknown[]).map(Number);
  const addresses = [fields.optionalText('ip'), fields.optionalText('ipv6')].flatMap((ip) =>
    ip === undefined ? [] : canonical(ip),
  );
  const rules = fields.optionalObjects('forwarding_rules');
  const status = statuses[fields.text('status')] ?? 'ready';
  const body: Balancer = {
    id,
    name,
    mark,
    droplets,
    addresses,
    wire: fields.json(),
    createdAtMs: timeIn(fields, 'created_at'),
    // A global one has none.
    region: fields.optionalObject('region')?.optionalText('slug') ?? '',
    members: droplets.map((each) => {
      return { providerID: digitalocean.print({ instanceId: String(each) }), draining: false, healthy: undefined };
    }),
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
  };
}

/** @throws CloudError `Invalid` */
export function foundCertificate(fields: AnswerFields): Found<Certificate> {
  const body = { id: fields.text('id'), name: fields.text('name') };
  return { kind: kindNames.certificate, id: body.id, status: 'ready', consentForAnyCluster: true, body };
}
