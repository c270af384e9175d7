import type { NetworkInterface } from './instance.ts';

export interface AllocationRequest {
  readonly interfaceCount: number;
  readonly external: boolean;
  readonly dualStack: boolean;
}

/** Hands out addresses and MACs that no other instance of this cloud has had. One number gives one set. */
export interface AddressAllocator {
  allocate(regionIndex: number, request: AllocationRequest): NetworkInterface[];
  mac(): string;
}

const HOSTS_PER_OCTET = 254;

export function addressAllocator(): AddressAllocator {
  let interfaces = 0;
  let externals = 0;

  function mac(): string {
    interfaces += 1;
    return macOf(interfaces);
  }

  return {
    mac,
    allocate(regionIndex, request) {
      const allocated: NetworkInterface[] = [];
      for (let index = 0; index < request.interfaceCount; index += 1) {
        const address = mac();
        const internal = [internalV4(regionIndex, interfaces)];
        if (request.dualStack) internal.push(internalV6(regionIndex, interfaces));
        const external: string[] = [];
        if (request.external && index === 0) {
          externals += 1;
          external.push(externalV4(externals));
        }
        allocated.push({ index, mac: address, internal, external });
      }
      return allocated;
    },
  };
}

function macOf(number: number): string {
  const hex = number.toString(16).padStart(8, '0');
  return `02:00:${hex.slice(0, 2)}:${hex.slice(2, 4)}:${hex.slice(4, 6)}:${hex.slice(6, 8)}`;
}

/** 10.0.0.0/8, four second octets (258,064 addresses) to a region. */
function internalV4(regionIndex: number, number: number): string {
  const [high, last] = split(number);
  return `10.${(regionIndex * 4 + Math.floor(high / 256)) % 256}.${high % 256}.${last}`;
}

/** In RFC 5952 form, from the unique local range. */
function internalV6(regionIndex: number, number: number): string {
  const high = number >>> 16;
  const host = (number & 0xffff).toString(16);
  return `fd00:5:${(regionIndex + 1).toString(16)}::${high > 0 ? `${high.toString(16)}:` : ''}${host}`;
}

/** 198.18.0.0/15, the range set aside for benchmarks (RFC 2544). */
function externalV4(number: number): string {
  const [high, last] = split(number);
  return `198.${18 + (Math.floor(high / 256) % 2)}.${high % 256}.${last}`;
}

function split(number: number): [number, number] {
  return [Math.floor((number - 1) / HOSTS_PER_OCTET), ((number - 1) % HOSTS_PER_OCTET) + 1];
}
