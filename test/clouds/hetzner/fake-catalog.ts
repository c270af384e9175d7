import type { Json } from '../fake-http.ts';
import { notFound } from './fake-api.ts';

const price = { net: '0.0100', gross: '0.0119' };

function location(id: number, name: string, zone: string, city: string, country: string) {
  const description = `${city} DC Park ${id}`;
  return { id, name, description, country, city, network_zone: zone, latitude: 50.47612, longitude: 12.370071 };
}

export type FakeLocation = ReturnType<typeof location>;

export const locations: readonly FakeLocation[] = [
  location(1, 'fsn1', 'eu-central', 'Falkenstein', 'DE'),
  location(2, 'nbg1', 'eu-central', 'Nuremberg', 'DE'),
  location(3, 'hel1', 'eu-central', 'Helsinki', 'FI'),
  location(4, 'ash', 'us-east', 'Ashburn', 'US'),
];

const prices = locations.map(({ name }) => ({
  location: name,
  price_hourly: price,
  price_monthly: price,
  included_traffic: 21_990_232_555_520,
  price_per_tb_traffic: price,
}));

function balancerType(id: number, name: string, max: readonly [number, number, number, number]) {
  const [max_services, max_targets, max_connections, max_assigned_certificates] = max;
  const limits = { max_services, max_targets, max_connections, max_assigned_certificates };
  return { id, name, description: name.toUpperCase(), deprecated: null, prices, ...limits };
}

export type FakeBalancerType = ReturnType<typeof balancerType>;

export const balancerTypes: readonly FakeBalancerType[] = [
  balancerType(1, 'lb11', [5, 25, 10_000, 10]),
  balancerType(2, 'lb21', [15, 75, 20_000, 25]),
  balancerType(3, 'lb31', [30, 150, 40_000, 50]),
];

export const serverType: Json = {
  id: 22,
  name: 'cpx11',
  description: 'CPX 11',
  cores: 2,
  memory: 2,
  disk: 40,
  deprecated: false,
  prices,
  storage_type: 'local',
  cpu_type: 'shared',
  architecture: 'x86',
  category: 'regular_purpose',
  deprecation: null,
  locations: [],
};

/** By name or id, as requests name things. */
export function named<Item extends { readonly id: number; readonly name: string }>(
  items: Iterable<Item>,
  what: string,
  nameOrId: unknown,
): Item {
  for (const item of items) if (item.name === nameOrId || item.id === Number(nameOrId)) return item;
  throw notFound(`${what} ${JSON.stringify(nameOrId)}`);
}

export function datacentreOf(place: FakeLocation): Json {
  const ids = { supported: [22], available: [22], available_for_migration: [22] };
  return { id: 10 + place.id, name: `${place.name}-dc8`, description: 'DC', location: place, server_types: ids };
}
