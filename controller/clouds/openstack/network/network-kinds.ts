/** Names of the kinds of what Neutron keeps for a load balancer. */
export const networkKinds = {
  floatingIp: 'floating IP',
  /** A floating IP of others on a VIP. */
  onVip: 'floating IP on VIP',
  group: 'security group',
  /** A security group on one port of a server. */
  member: 'group member',
  /** Only read. */
  serverPort: 'server port',
  /** Made with its load balancer, by Octavia. */
  vipPort: 'VIP port',
} as const;

export const vipPortName = `${networkKinds.vipPort}/main`;
export const groupName = `${networkKinds.group}/main`;
