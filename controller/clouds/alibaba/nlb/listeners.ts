import type { Change, Kind, ResourceName } from '../../../engine/resource.ts';
import { answerFields } from '../../answer-fields.ts';
import { kindNames } from '../clb/found.ts';
import type { AlibabaClient, Params } from '../client.ts';
import { cloud } from '../fault.ts';
import { differing, jobIn, send } from './calls.ts';
import { foundNetworkListener, type NetworkListener } from './found.ts';

export interface NetworkListenerSpec {
  readonly port: number;
  readonly protocol: string;
  readonly description: string;
  readonly group: ResourceName;
  /** In the wire's fields, only those that were chosen. */
  readonly fields: Params;
}

/** One port of a network load balancer. */
export function networkListenerKind(client: AlibabaClient): Kind<NetworkListenerSpec, NetworkListener> {
  return {
    kind: kindNames.networkListener,
    within: kindNames.balancer,
    retryCreate: 'afterSearch',
    compare({ body }, { port, protocol, group, fields }, pointsAt) {
      if (body.protocol !== protocol) return { replace: `${body.protocol} to ${protocol}`, order: 'deleteFirst' };
      const what = `port ${port}`;
      const news = [...(pointsAt('group').includes(group) ? [] : ['server group']), ...differing(body.wire, fields)];
      const changes: Change[] = [];
      const summary = `${what}: ${news.join(', ')}`;
      if (news.length > 0) changes.push({ what: 'set', phase: 'set', summary, body: { group, fields } });
      if (!body.isStarted) changes.push({ what: 'start', phase: 'set', summary: `start ${what}` });
      return changes.length === 0 ? { same: true } : { changes };
    },
    async create({ spec: { port, protocol, description, group, fields } }, _inside, io) {
      const wire = {
        LoadBalancerId: io.within,
        ListenerProtocol: protocol,
        ListenerPort: port,
        ListenerDescription: description,
        ServerGroupId: io.idOf(group),
        ...fields,
      };
      const answer = await client.change('nlb', 'CreateListener', wire, io);
      const id = answer.text('ListenerId');
      const shown = answerFields({ ...wire, ListenerId: id }, { cloud, operation: 'CreateListener' });
      return { id, found: [foundNetworkListener(shown, io.owner)], ...jobIn(answer) };
    },
    async update(found, { what, body }, io) {
      const ListenerId = found.id;
      if (what === 'start') {
        const job = await send(client, 'StartListener', { ListenerId }, io);
        return { found: [{ ...found, body: { ...found.body, isStarted: true } }], ...job };
      }
      const { group, fields } = body as Pick<NetworkListenerSpec, 'group' | 'fields'>;
      const params = { ...fields, ServerGroupId: io.idOf(group) };
      const job = await send(client, 'UpdateListenerAttribute', { ListenerId, ...params }, io);
      const wire = { ...found.body.wire, ...params, ListenerStatus: found.body.isStarted ? 'Running' : 'Stopped' };
      const shown = answerFields(wire, { cloud, operation: 'UpdateListenerAttribute' });
      return { found: [foundNetworkListener(shown, found.owner)], ...job };
    },
    remove: ({ id }, io) => send(client, 'DeleteListener', { ListenerId: id }, io),
  };
}
