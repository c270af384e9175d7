import { setTimeout as sleep } from 'node:timers/promises';
import { ownerTags } from '../../../controller/clouds/load-balancers.ts';
import { markIn } from '../../../controller/clouds/openstack/load-balancers/names.ts';
import { tag } from '../../../controller/clouds/openstack/load-balancers/tags.ts';
import type { InventoryItem } from '../suite/world.ts';
import type { Connection, Json } from './connection.ts';
import { plainName } from './octavia-world.ts';
import type { OctaviaWorld } from './openstack-world.ts';

const tagsOf = (item: Json) => item['tags'] as readonly string[];
const idsOf = (value: unknown) => (value as { readonly id: string }[]).map(({ id }) => id);
const waitMs = 300_000;

/**
 * The load balancers of the OpenStack that the environment names, by its API and without the code under test. Others
 * may work in the same project: only resources of this cluster or created here are read.
 */
export function realOctaviaWorld({ call, list }: Connection, cluster: string): OctaviaWorld {
  /** Of this cluster, and made here; also those that are gone. */
  const seen = new Set<string>();
  const theirs = new Set<string>();
  const addresses = new Set<string>();
  const balancer = async (id: string) =>
    (await call('load-balancer', 'GET', `/lbaas/loadbalancers/${id}`))?.['loadbalancer'] as Json | undefined;

  async function settled(id: string): Promise<Json | undefined> {
    const untilMs = Date.now() + waitMs;
    for (;;) {
      const one = await balancer(id);
      if (!String(one?.['provisioning_status']).startsWith('PENDING')) return one;
      if (Date.now() > untilMs)
        throw new Error(`load balancer ${id} is ${String(one?.['provisioning_status'])} for ever`);
      await sleep(200);
    }
  }

  async function remove(id: string): Promise<void> {
    if ((await settled(id)) === undefined) return;
    await call('load-balancer', 'DELETE', `/lbaas/loadbalancers/${id}?cascade=true`);
    await settled(id);
  }

  async function parts(id: string) {
    const [listeners, pools] = await Promise.all([
      list('load-balancer', `/lbaas/listeners?load_balancer_id=${id}`, 'listeners'),
      list('load-balancer', `/lbaas/pools?loadbalancer_id=${id}`, 'pools'),
    ]);
    return { listeners, pools };
  }

  return {
    async inventory() {
      const [all, floating, ports, groups] = await Promise.all([
        list('load-balancer', '/lbaas/loadbalancers', 'loadbalancers'),
        list('network', '/floatingips', 'floatingips'),
        list('network', '/ports?fields=device_id', 'ports'),
        list('network', '/security-groups?fields=name&fields=description', 'security_groups'),
      ]);
      const ours = all.filter(
        (one) => seen.has(String(one['id'])) || tagsOf(one).some((each) => each.endsWith(cluster)),
      );
      const items: InventoryItem[] = [];
      for (const one of ours) {
        const id = String(one['id']);
        seen.add(id);
        const name = plainName(one['name']);
        items.push({ kind: 'load balancer', name });
        const { listeners, pools } = await parts(id);
        for (const each of listeners) {
          const to = each['default_pool_id'] ? 'to a pool' : 'to nowhere';
          items.push({
            kind: 'listener',
            name: `${name} ${String(each['protocol'])} ${String(each['protocol_port'])} ${to}`,
          });
        }
        for (const each of pools) {
          const monitor = each['healthmonitor_id'] ? 'checked' : 'unchecked';
          items.push({
            kind: 'pool',
            name: `${name} ${String(each['protocol'])} of ${idsOf(each['members']).length}, ${monitor}`,
          });
        }
      }
      const vips = new Set(ours.map((one) => one['vip_port_id']));
      for (const one of floating) {
        const mark = markIn(String(one['description']));
        if (mark?.cluster !== cluster && !addresses.has(String(one['id'])) && !vips.has(one['port_id'])) continue;
        const whose = mark?.cluster === cluster ? 'of a cluster' : 'of others';
        items.push({ kind: 'floating IP', name: `${whose}, ${one['port_id'] ? 'attached' : 'free'}` });
      }
      for (const id of seen) {
        for (const port of ports) if (port['device_id'] === `lb-${id}`) items.push({ kind: 'port', name: 'of a VIP' });
        for (const group of groups)
          if (group['name'] === `lb-${id}`) items.push({ kind: 'security group', name: 'of a VIP' });
      }
      for (const group of groups) {
        if (markIn(String(group['description']))?.cluster === cluster)
          items.push({ kind: 'security group', name: 'of a cluster' });
      }
      return items;
    },
    async createForeignLoadBalancer(name, consent) {
      const subnets = await list('network', '/subnets', 'subnets');
      const answer = await call('load-balancer', 'POST', '/lbaas/loadbalancers', {
        loadbalancer: {
          name,
          vip_subnet_id: subnets[0]?.['id'],
          tags: consent ? [tag(ownerTags.consent, consent)] : [tag('team', 'other')],
          listeners: [
            {
              name: 'theirs',
              protocol: 'TCP',
              protocol_port: 9000,
              default_pool: { name: 'their-pool', protocol: 'TCP', lb_algorithm: 'ROUND_ROBIN' },
            },
          ],
        },
      });
      const made = answer?.['loadbalancer'] as Json;
      const id = String(made['id']);
      seen.add(id);
      theirs.add(id);
      await settled(id);
      return id;
    },
    async describeLoadBalancer(id) {
      const one = await settled(id);
      if (one === undefined) return undefined;
      const plain = ({ updated_at: _, provisioning_status: __, operating_status: ___, ...rest }: Json) => rest;
      const { listeners, pools } = await parts(id);
      return JSON.stringify([plain(one), listeners.map(plain), pools.map(plain)]);
    },
    deleteLoadBalancer: remove,
    async freeAddress(consent) {
      const [network] = await list('network', '/networks?router:external=true', 'networks');
      const fields = { floating_network_id: network?.['id'], description: 'of others' };
      const answer = await call('network', 'POST', '/floatingips', { floatingip: fields });
      const one = answer?.['floatingip'] as Json;
      addresses.add(String(one['id']));
      const tags = consent ? [tag(ownerTags.consent, consent)] : [tag('team', 'other')];
      await call('network', 'PUT', `/floatingips/${String(one['id'])}/tags`, { tags });
      return String(one['floating_ip_address']);
    },
    async close() {
      for (const id of new Set([...seen, ...theirs])) await remove(id);
      for (const id of addresses) await call('network', 'DELETE', `/floatingips/${id}`);
      for (const one of await list('network', '/floatingips', 'floatingips')) {
        if (markIn(String(one['description']))?.cluster === cluster)
          await call('network', 'DELETE', `/floatingips/${String(one['id'])}`);
      }
    },
  };
}
