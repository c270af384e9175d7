import { isCloudError } from '../../../../common/cloud-error.ts';
import type { Kind } from '../../../engine/resource.ts';
import type { HetznerClient } from '../client.ts';
import { type Json, kindNames, type Target } from './balancer.ts';
import { act } from './calls.ts';

export interface TargetSpec extends Pick<Target, 'type' | 'value' | 'usesPrivateIp'> {
  /** Its providerID. */
  readonly member: string;
}

/** A server, or the address of a dedicated server: it gets the traffic of all ports. */
export function targetKind(client: HetznerClient): Kind<TargetSpec, Target> {
  return {
    kind: kindNames.target,
    within: kindNames.balancer,
    inline: true,
    retryCreate: 'atOnce',
    compare({ body }, spec) {
      if (spec.type === 'ip' || body.usesPrivateIp === spec.usesPrivateIp) return { same: true };
      const change = spec.usesPrivateIp ? 'public to private' : 'private to public';
      return { replace: `${change} address`, order: 'deleteFirst' };
    },
    create: ({ spec }, _inside, io) =>
      act(client, io.within!, 'add_target', targetOf(spec), io).catch((error) => {
        throw refused(error, spec.member);
      }),
    remove: ({ body, within }, io) => act(client, within!, 'remove_target', withoutPrivate(targetOf(body)), io),
  };
}

export function targetOf({ type, value, usesPrivateIp }: Pick<Target, 'type' | 'value' | 'usesPrivateIp'>): Json {
  if (type === 'ip') return { type, ip: { ip: value } };
  return { type, server: { id: Number(value) }, use_private_ip: usesPrivateIp };
}

function withoutPrivate({ use_private_ip: _, ...rest }: Json): Json {
  return rest;
}

/** The same error about one member, where it is that one which the cloud does not take. */
function refused(error: unknown, member: string): unknown {
  if (!isCloudError(error) || !['Invalid', 'NotFound', 'QuotaExceeded'].includes(error.kind)) return error;
  return error.with({ subjects: [member] });
}
