/**
 * The same UUID with its first three groups in the other byte order. SMBIOS 2.6 stores them little-endian and older
 * firmware did not, so a guest and its hypervisor may print the UUID of one machine differently. Pure; its own inverse.
 */
export function swapped(uuid: string): string {
  const [a = '', b = '', c = '', ...rest] = uuid.split('-');
  return [reversedBytes(a), reversedBytes(b), reversedBytes(c), ...rest].join('-');
}

function reversedBytes(hex: string): string {
  return (hex.match(/../g) ?? []).reverse().join('');
}
