/** The data centre in which each location of Hetzner Cloud began. */
const firstDataCentres: ReadonlyMap<string, string> = new Map(
  ['nbg1-dc3', 'hel1-dc2', 'fsn1-dc14', 'ash-dc1', 'hil-dc1', 'sin-dc1'].map((zone) => [zone.split('-')[0]!, zone]),
);

/**
 * The zone label that the classic controller of Hetzner Cloud gives to servers of a location (`fsn1`), whichever data
 * centre they are in. Newer locations are their own zone.
 */
export function zoneOfLocation(location: string): string {
  return firstDataCentres.get(location) ?? location;
}
