import { CloudError, isCloudError } from '../../../../common/cloud-error.ts';
import type { Kind } from '../../../engine/resource.ts';
import { cloud } from '../fault.ts';
import { kindNames, type Rule, ruleSlot } from './found.ts';
import { made } from './made.ts';
import type { Project } from './project.ts';

export interface RuleSpec extends Omit<Rule, 'network'> {
  readonly network: string;
}

/** One port of a Service on its address. */
export function ruleKind({ change }: Project): Kind<RuleSpec, Rule> {
  return {
    // A second one for the same port is refused.
    kind: kindNames.rule,
    within: kindNames.address,
    retryCreate: 'atOnce',
    compare({ body }, spec) {
      if (body.privatePort !== spec.privatePort)
        return { replace: `node port ${body.privatePort} to ${spec.privatePort}`, order: 'deleteFirst' };
      if (body.cidrs.join() !== spec.cidrs.join())
        return { replace: `sources ${body.cidrs.join()} to ${spec.cidrs.join()}`, order: 'deleteFirst' };
      // An update is stored, and the router that balances goes on as before: `updateLoadBalancerRule` of the server
      // applies another algorithm alone.
      if (body.protocol !== spec.protocol)
        return { replace: `protocol ${body.protocol} to ${spec.protocol}`, order: 'deleteFirst' };
      const { name, algorithm } = spec;
      if (body.algorithm === algorithm) return { same: true };
      const summary = `port ${spec.publicPort}: algorithm ${body.algorithm} to ${algorithm}`;
      return { changes: [{ what: 'rule', summary, phase: 'set', body: { name, algorithm } }] };
    },
    async create(want, _inside, io) {
      const { spec } = want;
      const params = {
        publicipid: io.within,
        networkid: spec.network,
        name: spec.name,
        protocol: spec.protocol,
        publicport: spec.publicPort,
        privateport: spec.privatePort,
        algorithm: spec.algorithm,
        openfirewall: false,
        ...(spec.cidrs.length > 0 && { cidrlist: spec.cidrs }),
      };
      try {
        const begun = await change('createLoadBalancerRule', params, io);
        return made(want, io, begun, { slots: [ruleSlot(io.within!, spec.publicPort)], body: spec });
      } catch (error) {
        throw unsupportedRule(error, spec);
      }
    },
    async update(found, { body: news }, io) {
      const { id, body } = found;
      const answer = await change('updateLoadBalancerRule', { id, ...(news as object) }, io);
      return { ...answer, found: [{ ...found, body: { ...body, ...(news as object) } }] };
    },
    remove: ({ id }, io) => change('deleteLoadBalancerRule', { id }, io),
  };
}

/** The same error about the port: HAProxy in a virtual router takes neither UDP nor the port of its own statistics. */
function unsupportedRule(error: unknown, { protocol, publicPort, network }: RuleSpec): unknown {
  if (!isCloudError(error) || !error.message.includes('provider cannot support this rule')) return error;
  const port = `${protocol.toUpperCase()} ${publicPort}`;
  const message = `${port}: the provider of load balancing in network ${network} cannot support it`;
  const { kind, operation, cause } = error;
  return new CloudError({ kind, cloud, operation, message, cause });
}
