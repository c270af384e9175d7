import ipaddr from 'ipaddr.js';
import { CloudError } from '../../../../common/cloud-error.ts';
import type { HuaweiClient } from '../client.ts';
import { cloud } from '../fault.ts';

export type Subnets = ReturnType<typeof createSubnets>;

interface Subnet {
  readonly id: string;
  readonly vpc: string;
  /** Of ELB. */
  readonly subnet: string;
  readonly cidr: string;
}

const operation = 'subnets';

/** The subnets of the VPC, by the ids that ELB knows them by. @param vpc undefined: those of the project */
export function createSubnets(client: HuaweiClient, vpc: string | undefined) {
  let known: readonly Subnet[] = [];

  async function read(signal: AbortSignal | undefined): Promise<void> {
    const query = vpc === undefined ? [] : [['vpc_id', vpc] as const];
    const all = await client.list({ service: 'vpc', path: '/v1/{project}/subnets', query, signal }, 'subnets');
    known = all.map((one) => ({
      id: one.text('id'),
      vpc: one.text('vpc_id'),
      subnet: one.text('neutron_subnet_id'),
      cidr: one.text('cidr'),
    }));
  }
  async function find(isIt: (one: Subnet) => boolean, signal: AbortSignal | undefined): Promise<readonly Subnet[]> {
    if (!known.some(isIt)) await read(signal);
    return known.filter(isIt);
  }
  return {
    /** Undefined: none has that address. They are read again where none of those that are known has it. */
    async holding(address: string, signal: AbortSignal | undefined): Promise<string | undefined> {
      const [one, other] = await find(({ cidr }) => holds(cidr, address), signal);
      if (other === undefined) return one?.subnet;
      throw invalid(`[Vpc] id: missing, expected it: ${address} is in ${one!.id} and in ${other.id}`);
    },
    /** @param id of the subnet, by which people know it, or the one that ELB has */
    async byId(id: string, signal: AbortSignal | undefined): Promise<string> {
      const [one] = await find((each) => each.id === id || each.subnet === id, signal);
      if (one !== undefined) return one.subnet;
      throw invalid(`kubernetes.io/elb.subnet-id: ${JSON.stringify(id)}, expected a subnet of the VPC`);
    },
  };
}

function holds(cidr: string, address: string): boolean {
  if (!ipaddr.IPv4.isValidCIDR(cidr) || !ipaddr.IPv4.isValid(address)) return false;
  return ipaddr.IPv4.parse(address).match(ipaddr.IPv4.parseCIDR(cidr));
}

function invalid(message: string): CloudError {
  return new CloudError({ kind: 'Invalid', cloud, operation, message });
}
