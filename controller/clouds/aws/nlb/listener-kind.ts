import {
  CreateListenerCommand,
  DeleteListenerCommand,
  ModifyListenerCommand,
} from '@aws-sdk/client-elastic-load-balancing-v2';
import type { Change, Found, Kind, ResourceName, WriteIo } from '../../../engine/resource.ts';
import { sdkTags, type Tags } from '../load-balancer-tags.ts';
import type { LoadBalancerView } from '../load-balancer-view.ts';
import type { AwsParts } from '../parts.ts';
import { listenerOf } from './answers.ts';
import type { TagMarks, TagSpec } from './marks.ts';
import type { Listener } from './network-load-balancer.ts';
import { comparison, networkKinds, showListener } from './resources.ts';

export interface ListenerSpec extends TagSpec {
  readonly port: number;
  readonly protocol: string;
  readonly certificate: string | undefined;
  /** Undefined = AWS's default, or whatever is there. */
  readonly policy: string | undefined;
  readonly group: ResourceName;
}

export function createListenerKind(
  parts: Pick<AwsParts, 'elbv2'>,
  marks: TagMarks,
  view: LoadBalancerView,
): Kind<ListenerSpec | undefined, Listener> {
  const elbv2 = () => parts.elbv2();
  /** Its own tags tell whose it is. */
  const show = (listener: Listener, on: string) => {
    view.forwards.answered(on, listener.arn, listener.group ?? '');
    return showListener(listener, { arn: on, tags: listener.tags }, view);
  };
  const request = ({ protocol, certificate, policy, group }: ListenerSpec, io: WriteIo) => ({
    Protocol: protocol as 'TCP',
    DefaultActions: [{ Type: 'forward' as const, TargetGroupArn: io.idOf(group) }],
    ...(certificate !== undefined && { Certificates: [{ CertificateArn: certificate }] }),
    ...(policy !== undefined && { SslPolicy: policy }),
  });

  async function modify({ body: there, within = '' }: Found<Listener>, spec: ListenerSpec, io: WriteIo) {
    const { Protocol, ...rest } = request(spec, io);
    // AWS takes each for a change; what stays is left out.
    const protocol = there.protocol === Protocol ? {} : { Protocol };
    const command = new ModifyListenerCommand({ ListenerArn: there.arn, ...rest, ...protocol });
    await elbv2().change(command, { permit: io.permit, signal: io.signal });
    const { certificate = there.certificate, policy = there.policy } = spec;
    return show({ ...there, protocol: spec.protocol, group: io.idOf(spec.group), certificate, policy }, within);
  }

  return {
    kind: networkKinds.listener,
    within: networkKinds.balancer,
    retryCreate: 'atOnce',
    compare(found, spec, pointsAt) {
      if (spec === undefined) return { same: true };
      const { body: there } = found;
      const { protocol, port, group, certificate, policy } = spec;
      const differing = [
        ...(there.protocol === protocol ? [] : [`${there.protocol} to ${protocol}`]),
        ...(pointsAt('group').includes(group) ? [] : [`to ${group}`]),
        ...(certificate === there.certificate || protocol !== 'TLS' ? [] : [`certificate ${certificate}`]),
        ...(policy === undefined || policy === there.policy || protocol !== 'TLS' ? [] : [`policy ${policy}`]),
      ];
      const name = `listener ${there.protocol} ${port}`;
      const summary = `${name}: ${differing.join(', ')}`;
      const changes: Change[] = [...marks.changes(found, spec, name)];
      if (differing.length > 0) changes.unshift({ what: 'listener', phase: 'set', summary, body: spec });
      return comparison(changes);
    },
    async create({ spec }, _, io) {
      const { permit, signal, owner, within = '' } = io;
      const tags = marks.of(owner, spec!);
      const command = new CreateListenerCommand({
        LoadBalancerArn: within,
        Port: spec!.port,
        ...request(spec!, io),
        Tags: sdkTags(tags),
      });
      const { Listeners } = await elbv2().change(command, { permit, signal });
      const made = show(listenerOf(Listeners?.[0] ?? {}, tags), within);
      return { id: made.id, found: [made] };
    },
    async update(found, { what, body }, io) {
      const { within = '' } = found;
      if (what === 'listener') return { found: [await modify(found, body as ListenerSpec, io)] };
      await marks.add(found.id, body as Tags, io);
      return { found: [show({ ...found.body, tags: { ...found.body.tags, ...(body as Tags) } }, within)] };
    },
    async remove({ id, within = '' }, { permit, signal }) {
      await elbv2().change(new DeleteListenerCommand({ ListenerArn: id }), { permit, signal });
      view.forwards.answered(within, id, undefined);
      return {};
    },
    mark: async (found, as, want, io) => ({
      found: [show(await marks.mark(found, as, want, io), found.within ?? '')],
    }),
  };
}
